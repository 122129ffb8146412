/*
 * Traps, once trap.S has saved the registers and found a stack (docs/trap.md).
 * It calls
 *	trap_user	for a system call or another exception of user mode,
 *	trap_kernel	for an exception of the kernel,
 *	trap_interrupt	for an interrupt of either,
 *	trap_finish	before an interrupt of the kernel returns,
 *	thread_work	when the exit to user mode has found work.
 */
#include "trap.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "dev/profil.h"
#include "dev/sample.h"
#include "driver/plic.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "mm/uaccess.h"
#include "proc/memory.h"
#include "proc/proc.h"
#include "proc/signal.h"
#include "sched/clock.h"
#include "sched/entry.h"
#include "sched/hart.h"
#include "sched/icount.h"
#include "sched/level.h"
#include "sched/offsets.h"
#include "sched/sampleclock.h"
#include "sched/thread.h"
#include "syscall/table.h"

/* trap.S and switch.S find these fields by the numbers of sched/offsets.h. */
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

/* What stack_overflow in trap.S runs on: room for one panic, on each hart. */
char overflow_stacks[HART_MAX][PAGE_SIZE] __attribute__((aligned(16)));

void
trap_init_hart(void)
{
	csr_write(sscratch, 0);
	csr_write(stvec, (unsigned long)trap_vector);
	csr_write(scounteren, SCOUNTEREN_ALL);
	csr_write(sie, LEVEL_ALL);
}

/* The exceptions, by scause. */
static const struct cause {
	const char *name; /* in a panic's message */
	int signal, code; /* what user mode gets for it, and its si_code */
	int access;       /* what a page fault wanted: PROT_*; 0: it is none */
} causes[] = {
    [CAUSE_FETCH_MISALIGNED] = {"misaligned fetch", SIGBUS, BUS_ADRALN, 0},
    [CAUSE_FETCH_ACCESS] = {"fetch access fault", SIGSEGV, SEGV_ACCERR, 0},
    [CAUSE_ILLEGAL] = {"illegal instruction", SIGILL, ILL_ILLOPC, 0},
    [CAUSE_BREAKPOINT] = {"breakpoint", SIGTRAP, TRAP_BRKPT, 0},
    [CAUSE_LOAD_MISALIGNED] = {"misaligned load", SIGBUS, BUS_ADRALN, 0},
    [CAUSE_LOAD_ACCESS] = {"load access fault", SIGSEGV, SEGV_ACCERR, 0},
    [CAUSE_STORE_MISALIGNED] = {"misaligned store", SIGBUS, BUS_ADRALN, 0},
    [CAUSE_STORE_ACCESS] = {"store access fault", SIGSEGV, SEGV_ACCERR, 0},
    [CAUSE_FETCH_PAGE] = {"fetch page fault", SIGSEGV, SEGV_MAPERR, PROT_X},
    [CAUSE_LOAD_PAGE] = {"load page fault", SIGSEGV, SEGV_MAPERR, PROT_R},
    [CAUSE_STORE_PAGE] = {"store page fault", SIGSEGV, SEGV_MAPERR, PROT_W},
};

static const struct cause *
cause_of(unsigned long scause)
{
	static const struct cause unexpected = {"unexpected trap", SIGSEGV,
						SI_KERNEL, 0};

	if (scause < ARRAY_SIZE(causes) && causes[scause].name)
		return &causes[scause];
	return &unexpected;
}

/* For si_addr: the instruction that failed, or what it couldn't access. */
static uintptr_t
fault_address(const struct trapframe *tf)
{
	if (tf->scause == CAUSE_ILLEGAL || tf->scause == CAUSE_BREAKPOINT)
		return tf->sepc;
	return tf->stval;
}

/*
 * A system call or another exception of user mode, at level 0. With SPP set the
 * exception came from the exit stub, which touches only the thread and CSRs: a
 * mistake of the kernel. If a page fault finds no memory, memory_fault may have
 * killed this process. It then ends on its way to user mode, without a signal.
 */
void
trap_user(void)
{
	struct trapframe *tf = &current->tf;
	const struct cause *cause;
	int signal, code;

	if (tf->scause == CAUSE_ECALL) {
		syscall();
		return;
	}
	cause = cause_of(tf->scause);
	signal = cause->signal;
	code = cause->code;
	if (tf->sstatus & SSTATUS_SPP)
		panic_trap(cause->name, tf->sepc, tf->scause, tf->stval, 0, 0);
	if (cause->access) {
		int r = memory_fault(tf->stval, cause->access);

		if (r == 0 || (r == -ENOMEM && proc_is_killed()))
			return;
		if (r == -EACCES)
			code = SEGV_ACCERR;
		if (r == -EIO) {
			signal = SIGBUS;
			code = BUS_ADRERR;
		}
	}
	if (tf->scause == CAUSE_ILLEGAL && fp_first_use())
		return;
	signal_fault(signal, code, fault_address(tf));
}

/* Where to go on if the access to user memory at pc fails; 0: nowhere. */
static unsigned long
fault_fixup(unsigned long pc)
{
	const struct fault_entry *e;

	for (e = fault_table_start; e < fault_table_end; e++)
		if (e->start <= pc && pc < e->end)
			return e->fixup;
	return 0;
}

/* A mistake of the kernel. The message names the likely one, for who has just
 * made it. */
static void __attribute__((noreturn))
kernel_fault(const struct cause *cause, const struct ktrapframe *kf)
{
	char what[80];
	const char *hint = "";

	if (cause->access && kf->stval < PAGE_SIZE)
		hint = cause->access == PROT_X ? ": a call by a NULL pointer"
					       : ": a NULL pointer";
	else if (cause->access && fault_fixup(kf->sepc))
		hint = ": copy_in or copy_out at a raised level";
	else if (cause->access && kf->stval < USER_TOP)
		hint = ": a user's address, for copy_in and copy_out only";
	snprintf(what, sizeof(what), "%s%s", cause->name, hint);
	panic_trap(what, kf->sepc, kf->scause, kf->stval, kf->s0, kf->ra);
}

/*
 * An exception in the kernel. Only code that copies user memory may cause one
 * (mm/uaccess.S): a page fault, at level 0, as memory_fault may sleep. If that
 * can make the page present, the instruction is executed again; if not, the
 * copy goes on at its fixup, and fails. But peek, with which the sampler looks
 * at user memory at level 7, fails at once.
 */
void
trap_kernel(struct ktrapframe *kf)
{
	const struct cause *cause = cause_of(kf->scause);
	unsigned long fixup = fault_fixup(kf->sepc);

	if (cause->access && fixup == (unsigned long)peek_fault) {
		kf->sepc = fixup;
		return;
	}
	if (!cause->access || !fixup || !current->proc ||
	    level_of(kf->sie) != 0)
		kernel_fault(cause, kf);
	if (memory_fault(kf->stval, cause->access) != 0)
		kf->sepc = fixup;
}

/* sp is what the stack pointer was. s0 was left as it was, so this function has
 * saved it, at fp[-2]: there the backtrace goes on, on the old stack. */
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

/* What an interrupt has interrupted, for the sampler. It reads pgrp without
 * proc_tree_lock, which the code that was interrupted may hold. */
static UNGUARDED struct sample
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
 * Take the sample, whatever was interrupted. If the timer is due again by the
 * end of that, the next sample is charged to the same place. That isn't rare
 * under -icount: setting the timer makes QEMU go on with another hart, and a
 * whole period may pass before the next instruction here.
 */
static void
take_samples(const struct hart *h, bool user, unsigned long pc,
	     const struct ktrapframe *kf)
{
	struct sample where = interrupted(h, user, pc, kf);

	while (csr_read(sip) & SIE_TIMER)
		clock_interrupt(&where);
}

/* Do at once what another hart may want. Each interrupt calls this, as a
 * software interrupt may be cleared while this hart waits for its turn. */
static void
serve_others(const struct hart *h)
{
	panic_stop_if_asked();
	if (h->flush_asked != h->flush_done)
		tlb_serve();
}

/*
 * A software interrupt doesn't say what another hart wants. New settings of the
 * sampling clock are looked for here, a panic and a flush in serve_others, a
 * thread to run on the way back. The interrupt is cleared before any of that:
 * if a request comes too late to be seen, its interrupt is pending again.
 */
static void
software_interrupt(const struct hart *h)
{
	csr_clear(sip, SIE_SOFT);
	fence(o, r);
	if (h->sampleclock.generation != profclock.generation)
		clock_set_timer(0); /* clock_interrupt follows the settings */
}

/*
 * Handle an interrupt, except for its sample. At level 5, with SIE=1. What is
 * owed can be done here only if level 0 was interrupted, where no spinlock is
 * held. depth tells the sampler that it has interrupted a handler.
 */
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
 * An interrupt. user: of user mode. kf is the frame if it was of the kernel,
 * and NULL if of user mode or the exit stub, which starts again afterwards.
 *
 * If the timer is due, whatever the cause is, SIE is 0: the sample is taken
 * first. Then the interrupt is handled at level 5, with SIE set; but not one of
 * the timer's that has interrupted a raised level, as a tick's other work waits
 * until the level is lowered. There SIE stays 0 until the frame is gone from
 * the stack. So no more than two interrupts are ever on one stack: a handler,
 * and a timer that has interrupted it. idle_wait and kernel_return are
 * restarted (trap.S).
 *
 * Returns 0; or the cause of another interrupt, which came while this hart
 * waited for its turn (icount_wait), and which the caller handles in the same
 * way.
 */
unsigned long
trap_interrupt(unsigned long cause, bool user, unsigned long pc,
	       struct ktrapframe *kf)
{
	struct hart *h = this_hart();
	bool timer = !(csr_read(sstatus) & SSTATUS_SIE);

	h->last_pc = pc;
	if (timer)
		take_samples(h, user, pc, kf);
	if (timer && cause == CAUSE_TIMER && kf && level_of(kf->sie) > 0) {
		serve_others(h);
		if (machine.icount)
			icount_insist(h);
	} else {
		if (timer) {
			csr_clear(sie, LEVEL5_MASK);
			csr_set(sstatus, SSTATUS_SIE);
		}
		handle(h, cause, user, kf);
	}
	if (kf && in_idle(pc))
		kf->sepc = (unsigned long)idle_look;
	if (kf && between(pc, kernel_return, kernel_return_end))
		kf->sepc = (unsigned long)kernel_return;
	if (!machine.icount || (kf && level_of(kf->sie) > 0))
		return 0;
	return icount_wait(h, kf);
}

/*
 * Before an interrupt of the kernel returns to level 0: do what ticks have
 * left, and let another thread run if it is due. This is at level 5. So an
 * interrupt that comes now leaves what it owes to the loop here: they can't
 * nest without end. One that comes between the last look and the return leaves
 * it to kernel_return, which looks once more if this returns true.
 */
bool
trap_finish(const struct ktrapframe *kf)
{
	if (level_of(kf->sie) > 0)
		return false;
	while (this_hart()->owed || current->work & WORK_RESCHED)
		level_pending();
	return true;
}

/*
 * The exit stub has found bits in work; this is at level 0. profil comes before
 * signals, as it charges the pc in the frame, which a handler's start changes.
 */
void
thread_work(void)
{
	unsigned long work = __atomic_exchange_n(&current->work, 0,
						 __ATOMIC_ACQUIRE);

	if (work & WORK_RESCHED)
		thread_resched();
	if (work & WORK_PROFIL)
		profil_pay();
	if (work & WORK_SIGNAL)
		signal_deliver();
}
