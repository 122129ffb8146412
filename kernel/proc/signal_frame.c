/*
 * What a handler interrupts. A handler runs on the user's stack, below a
 * frame with all that it interrupted; it returns to the restorer, user code
 * that sigaction named, and that calls sigreturn to take the frame off again.
 */
#include "../syscall.h"
#include "../trap.h"
#include "proc.h"

#define STACK_ALIGN 16

/* A frame as functions have it, which the handler's own leads to: a call stack
 * goes on there with what was interrupted. sepc is odd, so no return address;
 * what only ra may have is beside it. */
struct link {
	unsigned long unused, ra, s0, sepc;
} __attribute__((aligned(STACK_ALIGN)));

/* What a handler finds on its stack, and sigreturn takes back. */
struct sigframe {
	struct trapframe tf;
	siginfo_t info;
	sigset_t mask;
	unsigned long fp_used;
	struct link link;  /* sigreturn has no use for it */
	struct fpstate fp; /* if so */
};

/* What lies between would be the kernel's stack, for the user to see. */
_Static_assert(offsetof(struct sigframe, link) ==
		   offsetof(struct sigframe, fp_used) + sizeof(unsigned long),
	       "padding");

/* Save all of the thread in a frame at a user address. */
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
			sizeof t->fp);
}

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
 * Go back to what a handler interrupted. The frame is the user's own, so it
 * may say anything: of sstatus, which isn't the user's, nothing is taken; but
 * if the floating-point registers weren't in use, they no longer are.
 * Doesn't return to syscall(), as the a0 to be restored isn't a result.
 */
long
sys_sigreturn(const unsigned long *)
{
	uintptr_t user = current->tf.sp;
	struct sigframe frame;

	if (copy_in(&frame, user, sizeof frame) < 0)
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
