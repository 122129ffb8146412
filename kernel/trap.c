/* What a trap means, once trap.S has made C possible. */
#include "trap.h"

#include <errno.h>
#include <signal.h>

#include "clock.h"
#include "dev/dev.h"
#include "icount.h"
#include "machine.h"
#include "print.h"
#include "proc/proc.h"
#include "sample.h"
#include "syscall.h"

#define CHECK(offset, type, field) \
	_Static_assert((offset) == offsetof(struct type, field), #field)
CHECK(T_REG(1), thread, tf.ra);
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
CHECK(HART_OWED, hart, owed);
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

/* Exceptions: what a panic calls them, what user mode gets for them, and the
 * access that a page fault tells of. */
static const struct cause {
	const char *name;
	int signal;
	int access; /* 0: it is no page fault */
} causes[] = {
    [CAUSE_FETCH_MISALIGNED] = {"misaligned fetch", SIGBUS},
    [CAUSE_FETCH_ACCESS] = {"fetch access fault", SIGSEGV},
    [CAUSE_ILLEGAL] = {"illegal instruction", SIGILL},
    [CAUSE_BREAKPOINT] = {"breakpoint", SIGTRAP},
    [CAUSE_LOAD_MISALIGNED] = {"misaligned load", SIGBUS},
    [CAUSE_LOAD_ACCESS] = {"load access fault", SIGSEGV},
    [CAUSE_STORE_MISALIGNED] = {"misaligned store", SIGBUS},
    [CAUSE_STORE_ACCESS] = {"store access fault", SIGSEGV},
    [CAUSE_FETCH_PAGE] = {"fetch page fault", SIGSEGV, PROT_X},
    [CAUSE_LOAD_PAGE] = {"load page fault", SIGSEGV, PROT_R},
    [CAUSE_STORE_PAGE] = {"store page fault", SIGSEGV, PROT_W},
};

static const struct cause *
cause_of(unsigned long scause)
{
	static const struct cause unexpected = {"unexpected trap", SIGSEGV, 0};

	if (scause < sizeof(causes) / sizeof(causes[0]) && causes[scause].name)
		return &causes[scause];
	return &unexpected;
}

/* An exception other than a system call in user mode. */
static void
user_exception(void)
{
	struct trapframe *tf = &current->tf;
	const struct cause *cause = cause_of(tf->scause);

	if (tf->sstatus & SSTATUS_SPP)
		panic_trap(cause->name, tf->sepc, tf->scause, tf->stval, 0, 0);
	if (cause->access) {
		int r = memory_fault(tf->stval, cause->access);

		if (r == 0 || (r == -ENOMEM && proc_is_killed()))
			return;
	}
	if (tf->scause == CAUSE_ILLEGAL && fp_first_use())
		return;
	signal_fault(cause->signal);
}

/*
 * From user mode, with everything saved, level 0. The frame's SPP is only
 * set when the exit stub itself went wrong.
 */
void
trap_user(void)
{
	if (current->tf.scause == CAUSE_ECALL)
		syscall();
	else
		user_exception();
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
	const struct cause *cause = cause_of(kf->scause);
	unsigned long fixup = fault_fixup(kf->sepc);

	if (cause->access && fixup == (unsigned long)peek_fault) {
		kf->sepc = fixup; /* the sampler looked: nothing is filled in */
		return;
	}
	if (!cause->access || !fixup || !current->proc ||
	    level_of(kf->sie) != 0)
		panic_trap(cause->name, kf->sepc, kf->scause, kf->stval, kf->s0,
			   kf->ra);
	if (memory_fault(kf->stval, cause->access) != 0)
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
between(unsigned long pc, const void *start, const void *end)
{
	return (unsigned long)start <= pc && pc < (unsigned long)end;
}

static bool
in_idle(unsigned long pc)
{
	return between(pc, (const void *)idle_wait, idle_wait_end);
}

/* What an interrupt interrupted, for the sampler. */
static struct sample
interrupted(const struct hart *h, bool user, unsigned long pc,
	    const struct ktrapframe *kf)
{
	struct sample s = {
	    .pc = pc,
	    .ipl = kf ? level_of(kf->sie) : 0,
	    .hart = h->id,
	    .pid = current->proc ? current->proc->pid : 0,
	    .pgrp = current->proc ? current->proc->pgrp : 0,
	    .mode = SAMPLE_KERNEL,
	    .thread = current,
	    .kf = kf,
	};

	if (user)
		s.mode = SAMPLE_USER;
	else if (h->depth)
		s.mode = SAMPLE_KERNELI;
	else if (in_idle(pc))
		s.mode = SAMPLE_IDLE;
	return s;
}

/*
 * The timer is due: the sample is taken, whatever was interrupted. One that
 * falls due while this runs is of where, too. That is no rare case under
 * -icount: setting the timer makes QEMU go on with another hart, and a whole
 * period may pass before the next instruction here.
 */
static void
take_samples(const struct hart *h, bool user, unsigned long pc,
	     const struct ktrapframe *kf)
{
	struct sample where = interrupted(h, user, pc, kf);

	while (csr_read(sip) & SIE_TIMER)
		clock_interrupt(&where);
}

/* What another hart may want of this one at once. Its software interrupt may
 * have been lost where harts have met (icount.c): every one looks. */
static void
serve_others(const struct hart *h)
{
	panic_stop_if_asked();
	if (h->flush_asked != h->flush_done)
		tlb_serve();
}

/* Another hart wants this one to look. Nothing says what for: there may be a
 * thread to run, too, for which the way back looks. All that looks does so
 * after the request is cleared: who comes too late for it makes another. */
static void
software_interrupt(const struct hart *h)
{
	csr_clear(sip, SIE_SOFT);
	fence(o, r);
	if (h->sampleclock.generation != profclock.generation)
		clock_set_timer(0); /* it strikes, and follows the settings */
}

/* At level 5, with SIE=1. */
static void
handle(struct hart *h, unsigned long cause, bool user,
       const struct ktrapframe *kf)
{
	h->depth++;
	if (h->owed && (kf == NULL || level_of(kf->sie) == 0))
		clock_tick(user);
	if (cause == CAUSE_SOFT)
		software_interrupt(h);
	else if (cause == CAUSE_EXTERNAL)
		plic_interrupt();
	else if (cause != CAUSE_TIMER)
		panic("interrupt of unknown cause %lx", cause);
	serve_others(h);
	h->depth--;
}

/*
 * An interrupt. SIE is 0 if the timer is due, whatever else the interrupt is
 * about, and until the samples are taken; then it is handled at level 5. depth
 * tells the sampler that it has interrupted a handler. A tick's other work
 * waits for the level to be lowered if that was raised. user: of user mode.
 * kf: what it interrupted, if that was the kernel; NULL: user mode, or the
 * exit stub, which starts again afterwards.
 *
 * A timer that interrupts a raised level is done when the sample is taken, and
 * SIE stays 0 until its frame is gone from the stack. So no more than two
 * interrupts are ever on one: a handler, and a timer that interrupts that.
 *
 * Where harts take turns (icount.c) the next one may come while this one waits
 * here for its own: it has interrupted the same. Its cause is returned, or 0.
 */
unsigned long
trap_interrupt(unsigned long cause, bool user, unsigned long pc,
	       struct ktrapframe *kf)
{
	struct hart *h = this_hart();
	bool timer = !(csr_read(sstatus) & SSTATUS_SIE);

	if (timer)
		take_samples(h, user, pc, kf);
	if (timer && cause == CAUSE_TIMER && kf && level_of(kf->sie) > 0) {
		serve_others(h);
	} else {
		if (timer) {
			csr_clear(sie, LEVEL5_MASK);
			csr_set(sstatus, SSTATUS_SIE);
		}
		handle(h, cause, user, kf);
	}
	if (kf && in_idle(pc)) {
		if (h->idling)
			icount_pass(h);
		kf->sepc = (unsigned long)idle_wait; /* looks again */
	}
	/* On the way back, with the check for work behind it. */
	if (kf && between(pc, kernel_return, kernel_return_end))
		kf->sepc = (unsigned long)kernel_return;
	if (!machine.icount || (kf && level_of(kf->sie) > 0))
		return 0;
	return icount_wait(h);
}

/*
 * Before a return to level 0 in the kernel: the ticks that came while a handler
 * ran, and perhaps another thread's turn. At level 5: an interrupt that comes
 * now may add to what is owed, but doesn't get here itself; so they can't nest
 * without end.
 */
void
trap_finish(const struct ktrapframe *kf)
{
	while (level_of(kf->sie) == 0 &&
	       (this_hart()->owed || current->work & WORK_RESCHED))
		level_pending();
}
