/*
 * Signals: what a thread does about those that were sent (signal_send.c).
 *
 * On its way to user mode signal_deliver takes one signal after the other and
 * acts, or has a handler act (signal_frame.c). Each thread does this for
 * itself; whichever comes first takes a signal that was sent to the process. An
 * exception that a thread causes itself is its `fault' (signal_fault).
 *
 * System calls: one that a signal has interrupted has returned -ERESTART. The
 * pc is after its ecall then, and a0 still holds its first argument. If no
 * handler runs, or one with SA_RESTART, the pc goes back to the ecall, and the
 * call is made again; else it fails with EINTR. (sigsuspend and nanosleep fail
 * after any handler.)
 *
 * Stopping: the state becomes PROC_STOPPED, and each thread sleeps in
 * await_continue when it comes to signal_deliver. SIGCONT and SIGKILL make the
 * state PROC_ALIVE again as they are sent, even if SIGCONT is blocked.
 *
 * Actions and pending signals are under p->lock, states under proc_tree_lock. A
 * thread changes its mask only itself, under p->lock.
 */
#include "signal.h"

#include <errno.h>
#include <string.h>

#include "base/riscv.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "exit.h"
#include "pending.h"
#include "proc.h"
#include "threads.h"

/*
 * Ignored signals stay ignored. Process 1 may have signals pending that it had
 * handlers for: with the default action they would end it now.
 */
void
signal_exec(struct proc *p)
{
	spin_lock(&p->lock);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction *act = signal_action(p, sig);

		if (act->sa_handler != SIG_IGN)
			act->sa_handler = SIG_DFL;
		act->sa_mask = 0;
		act->sa_flags = 0;
		if (p == init_proc)
			pending_forget(p, &p->pending, sigmask(sig));
	}
	spin_unlock(&p->lock);
	current->altstack_size = 0;
}

/* Does sig end or stop the process? Only with the default action. */
static bool
halts(const struct sigaction *act, int sig)
{
	return act->sa_handler == SIG_DFL && sig != SIGCONT &&
	       !(sigmask(sig) & SIGNALS_IGNORED);
}

/* The current thread has had an exception: *info says so. */
static int
take_fault(siginfo_t *info)
{
	int sig = current->fault;

	memset(info, 0, sizeof(*info));
	info->si_signo = sig;
	info->si_code = current->fault_code;
	info->si_addr = (void *)current->fault_address;
	current->fault = 0;
	return sig;
}

/*
 * Choose one signal that is pending and not blocked. Returns its number, or 0;
 * in *act what to do about it; in *info what a handler is told.
 *
 * - A fault of the thread comes first: its handler is to find the registers as
 *   they were, and another signal's handler would change them.
 * - A signal with a handler, or without effect, is pending no longer.
 * - One that ends the process stays pending. Another thread that was told of
 *   it as well must not find nothing, return to user mode and call exit before
 *   this thread has fixed the exit status.
 * - One that stops the process stays pending until stop() has done so. If
 *   SIGCONT comes before, it cancels the signal, and stop() finds that.
 */
static int
signal_take(struct sigaction *act, siginfo_t *info)
{
	struct proc *p = current->proc;
	struct pending *from = &current->pending;
	bool fault = current->fault != 0;
	int sig = 0;

	spin_lock(&p->lock);
	if (!(from->set & ~current->sigmask))
		from = &p->pending;
	if (fault)
		sig = take_fault(info);
	else if (from->set & ~current->sigmask)
		sig = __builtin_ctzl(from->set & ~current->sigmask) + 1;
	if (sig != 0) {
		*act = *signal_action(p, sig);
		if (!fault && !halts(act, sig))
			pending_take(p, from, sig, info);
		if (act->sa_flags & SA_RESETHAND)
			signal_action(p, sig)->sa_handler = SIG_DFL;
	}
	spin_unlock(&p->lock);
	return sig;
}

bool
signal_halting(void)
{
	struct proc *p = current->proc;
	sigset_t ready;
	bool any;

	must_hold(&proc_tree_lock);
	any = p->state != PROC_ALIVE;
	if (!signal_pending())
		return any;
	spin_lock(&p->lock);
	ready = (p->pending.set | current->pending.set) & ~current->sigmask;
	for (int sig = 1; sig < NSIG; sig++)
		any |= ready & sigmask(sig) &&
		       halts(signal_action(p, sig), sig);
	spin_unlock(&p->lock);
	return any;
}

/* If the process has been stopped, each of its threads waits here. */
static void
await_continue(void)
{
	struct proc *p = current->proc;

	/*
	 * A look without the lock suffices: stop() changes the state first and
	 * tells all threads afterwards, so this one comes here again.
	 */
	if (proc_state_now(p) != PROC_STOPPED)
		return;
	spin_lock(&proc_tree_lock);
	while (p->state == PROC_STOPPED)
		wait_uninterruptible(&p->cont_wait, &proc_tree_lock);
	spin_unlock(&proc_tree_lock);
}

/*
 * Stop the process, and tell its threads to wait in await_continue. Nothing is
 * done if SIGCONT has cancelled the signal since signal_take, if another thread
 * has stopped the process already, or if it has been killed.
 */
static void
stop(int sig)
{
	struct proc *p = current->proc;

	spin_lock(&proc_tree_lock);
	if (p->state == PROC_ALIVE && p->pending.set & sigmask(sig) &&
	    !(p->pending.set & sigmask(SIGKILL))) {
		p->state = PROC_STOPPED;
		proc_tell_parent(p, STATUS_STOPPED(sig));
		spin_lock(&p->lock);
		pending_forget(p, &p->pending, sigmask(sig));
		signal_tell(p, SIGKILL);
		spin_unlock(&p->lock);
	}
	spin_unlock(&proc_tree_lock);
}

/*
 * A handler will run. If the signal interrupted a system call, decide whether
 * the call is made again after the handler, or returns EINTR.
 *
 * t->restart: the call has just returned -ERESTART, and the pc is after its
 * ecall. t->sleep_until: the call is a nanosleep; if an earlier signal without
 * a handler interrupted it, the pc is back at the ecall already. In both cases
 * the pc is first made to point after the ecall.
 */
static void
interrupt_call(const struct sigaction *act)
{
	struct thread *t = current;
	bool sleeps = t->sleep_until != 0;

	if (!t->restart && !sleeps)
		return;
	if (!t->restart)
		t->tf.sepc += ECALL_SIZE;
	if (act->sa_flags & SA_RESTART && !sleeps && !t->sigmask_restore)
		t->tf.sepc -= ECALL_SIZE;
	else
		t->tf.a0 = -EINTR;
	t->restart = false;
	t->sleep_until = 0;
}

/*
 * If there is no stack for the frame, the thread gets SIGSEGV instead, whose
 * handler may have a stack of its own; if it is that one which has none, the
 * process ends. After sigsuspend, the mask that sigreturn restores is the one
 * before that call; so sigmask_restore is cleared only after the frame has been
 * made.
 */
static void
run_handler(int sig, const struct sigaction *act, const siginfo_t *info)
{
	struct thread *t = current;
	sigset_t mask = t->sigmask | act->sa_mask;

	interrupt_call(act);
	if (signal_push_frame(info, act) < 0) {
		if (sig == SIGSEGV)
			proc_exit(STATUS_KILLED(SIGSEGV));
		signal_fault(SIGSEGV, SI_KERNEL, 0);
		return;
	}
	t->sigmask_restore = false;
	if (!(act->sa_flags & SA_NODEFER))
		mask |= sigmask(sig);
	signal_set_mask(mask);
}

/*
 * Act on all signals that are pending and not blocked. Each handler gets a
 * frame below the one before, so the last one runs first. A signal sent
 * meanwhile sets WORK_SIGNAL again, and brings the thread back here.
 */
void
signal_deliver(void)
{
	struct sigaction act;
	siginfo_t info;
	int sig;

	for (;;) {
		await_continue();
		if (thread_must_leave())
			thread_leave();
		sig = signal_take(&act, &info);
		if (sig == 0)
			break;
		if (halts(&act, sig) && sigmask(sig) & SIGNALS_STOP)
			stop(sig);
		else if (halts(&act, sig))
			proc_exit(STATUS_KILLED(sig));
		else if (act.sa_handler != SIG_DFL && act.sa_handler != SIG_IGN)
			run_handler(sig, &act, &info);
	}
	/* sigsuspend without a handler: the call is made again. */
	if (current->sigmask_restore)
		signal_unswap_mask();
	if (current->restart) {
		current->restart = false;
		current->tf.sepc -= ECALL_SIZE;
	}
}
