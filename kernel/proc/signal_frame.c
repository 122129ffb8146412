/*
 * The frame of a signal handler. A handler runs on the user's stack, below a
 * frame with the state of the thread that it interrupted:
 *
 *	old sp ->	what was interrupted
 *			struct sigframe, and up to 15 bytes for alignment
 *	new sp ->	the handler's own frames
 *
 * It returns to the restorer, user code that was named in sigaction. That calls
 * sigreturn, with sp at the frame again, which restores the state.
 */
#include <stddef.h>

#include "base/riscv.h"
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
	unsigned long unused, ra, s0, sepc;
} __attribute__((aligned(STACK_ALIGN)));

struct sigframe {
	struct trapframe tf;
	siginfo_t info;
	sigset_t mask;
	unsigned long fp_used;
	struct link link;  /* sigreturn has no use for it */
	struct fpstate fp; /* if fp_used: so it comes last */
};

/* Padding would show the user what was on the kernel's stack before. */
_Static_assert(offsetof(struct sigframe, link) ==
		   offsetof(struct sigframe, fp_used) + sizeof(unsigned long),
	       "padding");

/* Save the current thread's state in a frame at a user address. */
static int
save(uintptr_t user, const siginfo_t *info)
{
	struct thread *t = current;
	struct sigframe frame;
	int r;

	frame.fp_used = (t->tf.sstatus & SSTATUS_FS) != 0;
	frame.tf = t->tf;
	frame.info = *info;
	frame.mask = t->sigmask_restore ? t->sigmask_saved : t->sigmask;
	frame.link = (struct link){
	    .ra = t->tf.ra,
	    .s0 = t->tf.s0,
	    .sepc = t->tf.sepc | 1,
	};
	r = copy_out(user, &frame, offsetof(struct sigframe, fp));
	if (r < 0 || !frame.fp_used)
		return r;
	fp_save(t);
	return copy_out(user + offsetof(struct sigframe, fp), &t->fp,
			sizeof(t->fp));
}

/* The handler starts as if the restorer had called it. */
int
signal_push_frame(const siginfo_t *info, uintptr_t handler)
{
	struct trapframe *tf = &current->tf;
	uintptr_t sp = tf->sp - sizeof(struct sigframe);
	int r;

	sp &= ~(uintptr_t)(STACK_ALIGN - 1);
	r = save(sp, info);
	if (r < 0)
		return r;
	tf_change_begin();
	tf->a0 = info->si_signo;
	tf->a1 = sp + offsetof(struct sigframe, info);
	tf->a2 = 0;
	tf->ra = current->proc->sigrestorer;
	tf->s0 = sp + offsetof(struct sigframe, link) + sizeof(struct link);
	tf->sp = sp;
	tf->sepc = handler;
	tf_change_end();
	return 0;
}

/*
 * Go back to what a handler interrupted. The program may have written anything
 * to the frame. Its own registers it may set as it likes; but sstatus, with
 * the privilege to return to, isn't taken from there. Only if the frame says
 * that floating-point registers weren't in use, they are off again.
 *
 * It doesn't return to syscall(), which would store a result in a0: a0 is to be
 * restored like the others.
 */
long
sys_sigreturn(const unsigned long *)
{
	uintptr_t user = current->tf.sp;
	struct sigframe frame;

	if (copy_in(&frame, user, sizeof(frame)) < 0)
		proc_exit(STATUS_KILLED(SIGSEGV));
	frame.tf.sstatus = current->tf.sstatus;
	if (!frame.fp_used)
		frame.tf.sstatus &= ~(unsigned long)SSTATUS_FS;
	tf_change_begin();
	current->tf = frame.tf;
	tf_change_end();
	if (frame.fp_used)
		fp_set(&frame.fp);
	signal_set_mask(frame.mask);
	trap_return_user();
}
