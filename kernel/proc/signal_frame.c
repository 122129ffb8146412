/*
 * The frame of a signal handler. A handler runs on the user's stack, or on the
 * one that the thread has named for it (sigaltstack), below a frame with the
 * state of the thread that it interrupted:
 *
 *	top ->		what was interrupted, or the end of the other stack
 *			struct sigframe, and up to 15 bytes for alignment
 *	new sp ->	the handler's own frames
 *
 * It returns to the page of signal_page.c. That calls rt_sigreturn, with sp at
 * the frame again, which restores the state.
 *
 * The frame is Linux's: its handlers know it by a pointer to each part, those
 * who unwind stacks by its address. What Tally adds comes after that.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ucontext.h>

#include "base/layout.h"
#include "base/syscall.h"
#include "mm/uaccess.h"
#include "sched/entry.h"
#include "sched/thread.h"

#include "exit.h"
#include "proc.h"
#include "signal.h"

#define STACK_ALIGN 16

/*
 * A frame in the form that functions have: the return address at fp - 8, the
 * caller's fp at fp - 16. So whoever follows a call stack (dev/stack.c) goes on
 * with what was interrupted. In place of a return address it has the
 * interrupted pc, with bit 0 set to tell it from one. ra is there as well: the
 * caller of a function without a frame may be found nowhere else.
 */
struct link {
	unsigned long fp_used; /* not a link's, but there was room */
	unsigned long ra, s0, sepc;
} __attribute__((aligned(STACK_ALIGN)));

struct sigframe {
	siginfo_t info;
	ucontext_t context;
	struct link link; /* Tally's own */
};

/* The numbers that Linux's headers give. */
_Static_assert(offsetof(struct sigframe, context) == 128, "siginfo_t");
_Static_assert(offsetof(ucontext_t, uc_mcontext) == 176, "ucontext_t");
_Static_assert(offsetof(mcontext_t, __fpregs) == 256, "registers");
_Static_assert(sizeof(ucontext_t) == 960, "floating-point registers");

/* All that a trap frame has of the user's registers but the pc, in the order of
 * their numbers, from 1 on. */
_Static_assert(offsetof(struct trapframe, sepc) ==
		   (NGREG - 1) * sizeof(unsigned long),
	       "sepc follows the registers in a trap frame");
#define REGISTERS_SIZE offsetof(struct trapframe, sepc)

/* --- The stack for handlers --- */

static bool
on_altstack(uintptr_t sp)
{
	return sp - current->altstack - 1 < current->altstack_size;
}

/* What is set. It's cleared first: it has padding. */
static void
altstack_get(stack_t *stack)
{
	memset(stack, 0, sizeof(*stack));
	stack->ss_sp = (void *)current->altstack;
	stack->ss_size = current->altstack_size;
	stack->ss_flags = current->altstack_size == 0 ? SS_DISABLE : 0;
}

static int
altstack_set(const stack_t *stack, uintptr_t sp)
{
	if (on_altstack(sp))
		return -EPERM;
	if (stack->ss_flags != 0 && stack->ss_flags != SS_DISABLE &&
	    stack->ss_flags != SS_ONSTACK)
		return -EINVAL;
	if (stack->ss_flags == SS_DISABLE) {
		current->altstack = current->altstack_size = 0;
		return 0;
	}
	if (stack->ss_size < MINSIGSTKSZ)
		return -ENOMEM;
	current->altstack = (uintptr_t)stack->ss_sp;
	current->altstack_size = stack->ss_size;
	return 0;
}

/* sigaltstack(new, old). SS_AUTODISARM isn't there: EINVAL. */
long
sys_sigaltstack(const unsigned long *arg)
{
	uintptr_t sp = current->tf.sp;
	stack_t new, old;
	int r = 0;

	altstack_get(&old);
	if (on_altstack(sp))
		old.ss_flags = SS_ONSTACK;
	if (arg[0] != 0 && copy_in(&new, arg[0], sizeof(new)) < 0)
		return -EFAULT;
	if (arg[0] != 0)
		r = altstack_set(&new, sp);
	if (r == 0 && arg[1] != 0)
		r = copy_out(arg[1], &old, sizeof(old));
	return r;
}

/*
 * Where the frame lies. A handler on the other stack may be interrupted by
 * another one, which goes on there; but not past its end, where somebody
 * else's memory may be: then the address is one that can't be written.
 */
static uintptr_t
frame_place(const struct sigaction *act)
{
	uintptr_t top = current->tf.sp;
	bool on = on_altstack(top);

	if (on && !on_altstack(top - sizeof(struct sigframe)))
		return -(uintptr_t)STACK_ALIGN;
	if (act->sa_flags & SA_ONSTACK && !on && current->altstack_size != 0)
		top = current->altstack + current->altstack_size;
	return (top - sizeof(struct sigframe)) & ~(uintptr_t)(STACK_ALIGN - 1);
}

/* --- Going to a handler, and coming back --- */

/* Save the current thread's state in a frame at a user address. It's cleared
 * first: all of it goes to the user, padding and reserved fields, too. */
static int
save(uintptr_t user, const siginfo_t *info)
{
	struct thread *t = current;
	struct sigframe frame;
	ucontext_t *c = &frame.context;
	unsigned long *regs = c->uc_mcontext.__gregs;

	memset(&frame, 0, sizeof(frame));
	frame.info = *info;
	altstack_get(&c->uc_stack);
	c->uc_sigmask = t->sigmask_restore ? t->sigmask_saved : t->sigmask;
	regs[REG_PC] = t->tf.sepc;
	memcpy(&regs[REG_RA], &t->tf.ra, REGISTERS_SIZE);
	frame.link = (struct link){
	    .fp_used = (t->tf.sstatus & SSTATUS_FS) != 0,
	    .ra = t->tf.ra,
	    .s0 = t->tf.s0,
	    .sepc = t->tf.sepc | 1,
	};
	if (frame.link.fp_used) {
		fp_save(t);
		memcpy(c->uc_mcontext.__fpregs.__d.__f, t->fp.f,
		       sizeof(t->fp.f));
		c->uc_mcontext.__fpregs.__d.__fcsr = t->fp.fcsr;
	}
	return copy_out(user, &frame, sizeof(frame));
}

/* The handler starts as if the page of signal_page.c had called it. */
int
signal_push_frame(const siginfo_t *info, const struct sigaction *act)
{
	struct trapframe *tf = &current->tf;
	uintptr_t sp = frame_place(act);
	int r = save(sp, info);

	if (r < 0)
		return r;
	tf_change_begin();
	tf->a0 = info->si_signo;
	tf->a1 = sp + offsetof(struct sigframe, info);
	tf->a2 = sp + offsetof(struct sigframe, context);
	tf->ra = USER_SIGRETURN;
	tf->s0 = sp + sizeof(struct sigframe);
	tf->sp = sp;
	tf->sepc = (uintptr_t)act->sa_handler;
	tf_change_end();
	return 0;
}

/* Restore the floating-point registers from a frame; or, if it says that they
 * weren't in use, turn them off again. */
static void
restore_fp(const struct sigframe *frame)
{
	const union __riscv_mc_fp_state *saved =
	    &frame->context.uc_mcontext.__fpregs;
	struct fpstate fp = {.fcsr = saved->__d.__fcsr};

	if (!frame->link.fp_used) {
		current->tf.sstatus &= ~(unsigned long)SSTATUS_FS;
		return;
	}
	memcpy(fp.f, saved->__d.__f, sizeof(fp.f));
	fp_set(&fp);
}

/*
 * Go back to what a handler interrupted. The program may have written anything
 * to the frame. Its own registers it may set as it likes; but sstatus, with
 * the privilege to return to, isn't there at all.
 *
 * It doesn't return to syscall(), which would store a result in a0: a0 is to be
 * restored like the others.
 */
long
sys_rt_sigreturn(const unsigned long *)
{
	struct trapframe *tf = &current->tf;
	struct sigframe frame;
	const unsigned long *regs = frame.context.uc_mcontext.__gregs;

	if (copy_in(&frame, tf->sp, sizeof(frame)) < 0) {
		signal_fault(SIGSEGV, SI_KERNEL, 0);
		trap_return_user();
	}
	tf_change_begin();
	memcpy(&tf->ra, &regs[REG_RA], REGISTERS_SIZE);
	tf->sepc = regs[REG_PC];
	tf_change_end();
	restore_fp(&frame);
	altstack_set(&frame.context.uc_stack, tf->sp); /* or it can't be */
	signal_set_mask(frame.context.uc_sigmask);
	trap_return_user();
}
