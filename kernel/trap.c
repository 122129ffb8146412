/* What a trap means, once trap.S has made C possible. */
#include "trap.h"

#include <signal.h>

#include "clock.h"
#include "dev/dev.h"
#include "print.h"
#include "proc/proc.h"
#include "sample.h"
#include "syscall.h"

#define CHECK(offset, type, field) \
	_Static_assert((offset) == offsetof(struct type, field), #field)
CHECK(T_RA, thread, tf.ra);
CHECK(T_SP, thread, tf.sp);
CHECK(T_GP, thread, tf.gp);
CHECK(T_TP, thread, tf.tp);
CHECK(T_REG(31), thread, tf.t6);
CHECK(T_SEPC, thread, tf.sepc);
CHECK(T_SSTATUS, thread, tf.sstatus);
CHECK(T_SCAUSE, thread, tf.scause);
CHECK(T_STVAL, thread, tf.stval);
CHECK(T_SCRATCH, thread, scratch);
CHECK(T_WORK, thread, work);
CHECK(T_KSTACK_TOP, thread, kstack_top);
CHECK(T_HART, thread, hart);
CHECK(T_CTX, thread, ctx);
CHECK(CTX_S(11), context, s11);
CHECK(CTX_GP, context, gp);
CHECK(HART_ID, hart, id);
CHECK(HART_HARTID, hart, hartid);
CHECK(HART_IDLE, hart, idle);
_Static_assert(sizeof(struct hart) == HART_SIZE, "hart");
CHECK(KF_RA, ktrapframe, ra);
CHECK(KF_T(2), ktrapframe, t2);
CHECK(KF_A(7), ktrapframe, a7);
CHECK(KF_T3(6), ktrapframe, t6);
CHECK(KF_STVAL, ktrapframe, stval);
CHECK(KF_SIE, ktrapframe, sie);
CHECK(KF_SSTATUS, ktrapframe, sstatus);
CHECK(KF_S0, ktrapframe, s0);
CHECK(KF_SEPC, ktrapframe, sepc);
_Static_assert(sizeof(struct ktrapframe) == KF_SIZE, "ktrapframe");

/* What stack_overflow in trap.S runs on: the room of one panic a hart. */
char overflow_stacks[HART_MAX][PAGE_SIZE] __attribute__((aligned(16)));

void
trap_init_hart(void)
{
	csr_write(sscratch, 0);
	csr_write(stvec, (unsigned long)trap_vector);
	csr_write(scounteren, SCOUNTEREN_ALL);
	csr_write(sie, LEVEL_ALL);
}

static const char *
cause_name(unsigned long cause)
{
	static const char *const names[] = {
	    [CAUSE_FETCH_MISALIGNED] = "misaligned fetch",
	    [CAUSE_FETCH_ACCESS] = "fetch access fault",
	    [CAUSE_ILLEGAL] = "illegal instruction",
	    [CAUSE_BREAKPOINT] = "breakpoint",
	    [CAUSE_LOAD_MISALIGNED] = "misaligned load",
	    [CAUSE_LOAD_ACCESS] = "load access fault",
	    [CAUSE_STORE_MISALIGNED] = "misaligned store",
	    [CAUSE_STORE_ACCESS] = "store access fault",
	    [CAUSE_FETCH_PAGE] = "fetch page fault",
	    [CAUSE_LOAD_PAGE] = "load page fault",
	    [CAUSE_STORE_PAGE] = "store page fault",
	};

	if (cause < sizeof(names) / sizeof(names[0]) && names[cause])
		return names[cause];
	return "unexpected trap";
}

/* The access that a page fault tells of; 0: the cause is no page fault. */
static int
fault_access(unsigned long cause)
{
	switch (cause) {
	case CAUSE_FETCH_PAGE:
		return PROT_X;
	case CAUSE_LOAD_PAGE:
		return PROT_R;
	case CAUSE_STORE_PAGE:
		return PROT_W;
	default:
		return 0;
	}
}

/* The signal for an exception that user mode brought upon itself. */
static int
fault_signal(unsigned long cause)
{
	switch (cause) {
	case CAUSE_ILLEGAL:
		return SIGILL;
	case CAUSE_BREAKPOINT:
		return SIGTRAP;
	case CAUSE_FETCH_MISALIGNED:
	case CAUSE_LOAD_MISALIGNED:
	case CAUSE_STORE_MISALIGNED:
		return SIGBUS;
	default:
		return SIGSEGV;
	}
}

/* An exception other than a system call in user mode. */
static void
user_exception(struct trapframe *tf)
{
	int access = fault_access(tf->scause);

	if (tf->sstatus & SSTATUS_SPP)
		panic_trap(cause_name(tf->scause), tf->sepc, tf->scause,
			   tf->stval, 0, 0);
	if (access && aspace_fault(current->proc->as, tf->stval, access) == 0)
		return;
	if (tf->scause == CAUSE_ILLEGAL && fp_first_use())
		return;
	signal_fault(fault_signal(tf->scause));
}

/*
 * From user mode, with everything saved, level 0. The frame's SPP is only
 * set when the exit stub itself went wrong.
 */
void
trap_user(struct trapframe *tf)
{
	if (tf->scause == CAUSE_ECALL)
		syscall(tf);
	else
		user_exception(tf);
}

/* Where to go on after a failed access to user memory at pc; 0: nowhere. */
static unsigned long
fault_fixup(unsigned long pc)
{
	const struct fault_entry *e;

	for (e = fault_table_start; e < fault_table_end; e++)
		if (e->start <= pc && pc < e->end)
			return e->fixup;
	return 0;
}

/*
 * An exception in the kernel. Only the copying of user memory may cause one,
 * at level 0: then the page is made present, or the copy goes wrong.
 */
void
trap_kernel(struct ktrapframe *kf)
{
	int access = fault_access(kf->scause);
	unsigned long fixup = fault_fixup(kf->sepc);

	if (!access || !fixup || !current->proc || level_of(kf->sie) != 0)
		panic_trap(cause_name(kf->scause), kf->sepc, kf->scause,
			   kf->stval, kf->s0, kf->ra);
	csr_set(sstatus, SSTATUS_SIE);
	if (aspace_fault(current->proc->as, kf->stval, access) != 0)
		kf->sepc = fixup;
}

/* trap.S found no room on the stack; sp as it was. On overflow_stacks, but s0
 * is still that of what overflowed: it lies in this function's frame. */
void
trap_stack_overflow(unsigned long sp)
{
	const unsigned long *fp = __builtin_frame_address(0);

	panic_trap("kernel stack overflow", csr_read(sepc), csr_read(scause),
		   sp, fp[-2], 0);
}

static bool
in_idle(unsigned long pc)
{
	return (unsigned long)idle_wait <= pc &&
	       pc < (unsigned long)idle_wait_end;
}

/*
 * Run an interrupt's handler at the level of mask, with the sampler let in;
 * depth tells it that it has interrupted a handler. A sample that fell due
 * since the trap is still one of where: under -icount all other harts may have
 * had their turns in between, and the handler hasn't begun.
 */
static void
handle(void (*handler)(void), unsigned long mask, const struct sample *where)
{
	struct hart *h = this_hart();

	csr_clear(sie, mask);
	while (csr_read(sip) & SIE_TIMER)
		clock_interrupt(where);
	h->depth++;
	csr_set(sstatus, SSTATUS_SIE);
	handler();
	csr_clear(sstatus, SSTATUS_SIE);
	h->depth--;
}

static void
tick_in_user(void)
{
	clock_tick(true);
}

static void
tick_in_kernel(void)
{
	clock_tick(false);
}

/* Another hart wants this one to look: at thread->work, or at its queue. */
static void
soft_interrupt(void)
{
}

/* What an interrupt interrupted, for the sampler. */
static struct sample
interrupted(enum trap_origin origin, unsigned long pc, unsigned long sie)
{
	struct sample s = {
	    .pc = pc,
	    .ipl = level_of(sie),
	    .hart = this_hart()->id,
	    .pid = current->proc ? current->proc->pid : 0,
	    .pgrp = current->proc ? current->proc->pgrp : 0,
	    .mode = SAMPLE_KERNEL,
	};

	if (origin == FROM_USER)
		s.mode = SAMPLE_USER;
	else if (this_hart()->depth)
		s.mode = SAMPLE_KERNELI;
	else if (in_idle(pc))
		s.mode = SAMPLE_IDLE;
	return s;
}

/*
 * The timer: the sample is taken, whatever was interrupted. A tick's other
 * work waits for the level to be lowered if that was raised.
 */
static void
timer_interrupt(const struct sample *where)
{
	bool user = where->mode == SAMPLE_USER;

	panic_stop_if_asked();
	clock_interrupt(where);
	if (this_hart()->owed && where->ipl == 0)
		handle(user ? tick_in_user : tick_in_kernel, LEVEL5_MASK,
		       where);
}

/*
 * On the way back to level 0: the ticks that came while the handler ran, and
 * in the kernel perhaps another thread's turn. (User mode has exit_work.)
 * All at level 5: an interrupt that comes now may add to what is owed, but
 * doesn't get here itself; so they can't nest without end.
 */
static void
before_level0(bool to_kernel)
{
	csr_clear(sie, LEVEL5_MASK);
	for (;;) {
		bool yield = to_kernel && (current->work & WORK_RESCHED);

		if (!this_hart()->owed && !yield)
			break;
		csr_set(sstatus, SSTATUS_SIE);
		clock_tick(false);
		if (yield)
			thread_yield();
		csr_clear(sstatus, SSTATUS_SIE);
	}
}

/*
 * An interrupt, with SIE=0 until the handler runs, and again on return.
 * kf: what it interrupted, if that was the kernel, else NULL. The idle loop
 * starts again from its test.
 */
void
trap_interrupt(unsigned long cause, enum trap_origin origin, unsigned long pc,
	       struct ktrapframe *kf)
{
	unsigned long sie = kf ? kf->sie : LEVEL_ALL;
	struct sample where = interrupted(origin, pc, sie);

	switch (cause) {
	case CAUSE_TIMER:
		timer_interrupt(&where);
		break;
	case CAUSE_SOFT:
		csr_clear(sip, SIE_SOFT);
		handle(soft_interrupt, LEVEL1_MASK, &where);
		break;
	case CAUSE_EXTERNAL:
		handle(plic_interrupt, LEVEL5_MASK, &where);
		break;
	default:
		panic("interrupt of unknown cause %lx", cause);
	}
	panic_stop_if_asked();
	tlb_serve();
	if (kf && in_idle(pc))
		kf->sepc = (unsigned long)idle_wait;
	if (level_of(sie) == 0)
		before_level0(kf != NULL);
	csr_write(sie, sie);
}
