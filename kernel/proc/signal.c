/*
 * Signals.
 *
 * Sending: signal_post sets a bit in the process, and tells the threads that
 * don't block the signal: they end an interruptible wait, and look at what is
 * pending on their way to user mode (WORK_SIGNAL). An exception that a thread
 * causes itself sets a bit in the thread instead (signal_fault).
 *
 * Delivery: on that way signal_deliver takes one signal after the other and
 * acts, or has a handler act (signal_frame.c). Each thread does this for
 * itself; whichever comes first takes a signal that was sent to the process.
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
 * Actions and pending bits are under p->lock, states under proc_tree_lock. A
 * thread changes its mask only itself, under p->lock.
 */
#include "signal.h"

#include <errno.h>

#include "base/list.h"
#include "base/riscv.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "exit.h"
#include "proc.h"
#include "sleep.h"
#include "threads.h"

#define UNMASKABLE (sigmask(SIGKILL) | sigmask(SIGSTOP))
#define STOPS                                                     \
	(sigmask(SIGSTOP) | sigmask(SIGTSTP) | sigmask(SIGTTIN) | \
	 sigmask(SIGTTOU))
#define IGNORED (sigmask(SIGCHLD) | sigmask(SIGURG) | sigmask(SIGWINCH))

static bool
valid(int sig)
{
	return sig > 0 && sig < NSIG;
}

/*
 * Would sig have no effect on p? (Not asked of SIGCONT, which always has one.)
 * The machine is switched off when process 1 ends; so that one ignores all
 * signals for which it has no handler, and nobody can have one for SIGKILL and
 * SIGSTOP. Its own faults still end it: see signal_fault.
 */
static bool
ignored(const struct proc *p, int sig)
{
	_sig_func_ptr handler = p->action[sig].sa_handler;

	must_hold(&p->lock);
	return handler == SIG_IGN ||
	       (handler == SIG_DFL &&
		(p == init_proc || sigmask(sig) & IGNORED));
}

void
signal_tell(struct proc *p, int sig)
{
	must_hold(&p->lock);
	list_each (struct thread, t, &p->threads, proc_link) {
		if (t->sigmask & sigmask(sig))
			continue;
		thread_notify(t, WORK_SIGNAL);
		thread_wake(t, true);
	}
}

/* SIGCONT cancels pending stop signals, and these cancel a pending SIGCONT. */
static void
make_pending(struct proc *p, int sig)
{
	spin_lock(&p->lock);
	if (sig == SIGCONT)
		p->sigpending &= ~STOPS;
	else if (sigmask(sig) & STOPS)
		p->sigpending &= ~sigmask(SIGCONT);
	if (sig == SIGCONT || !ignored(p, sig)) {
		__atomic_or_fetch(&p->sigpending, sigmask(sig),
				  __ATOMIC_RELAXED);
		signal_tell(p, sig);
	}
	spin_unlock(&p->lock);
}

bool
signal_post(struct proc *p, int sig)
{
	must_hold(&proc_tree_lock);
	if (p->state >= PROC_EXITING || sig == 0)
		return false;
	make_pending(p, sig);
	if (p->state == PROC_STOPPED && (sig == SIGCONT || sig == SIGKILL)) {
		p->state = PROC_ALIVE;
		wake_all(&p->cont_wait);
		if (sig == SIGCONT)
			proc_tell_parent(p, STATUS_CONTINUED);
	}
	return true;
}

void
signal_send(struct proc *p, int sig)
{
	spin_lock(&proc_tree_lock);
	signal_post(p, sig);
	spin_unlock(&proc_tree_lock);
}

bool
signal_send_group(pid_t pgrp, int sig)
{
	bool taken = false;

	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pgrp == pgrp)
			taken |= signal_post(p, sig);
	spin_unlock(&proc_tree_lock);
	return taken;
}

void
signal_fault(int sig)
{
	struct proc *p = current->proc;

	spin_lock(&p->lock);
	if (current->sigmask & sigmask(sig) || ignored(p, sig)) {
		/*
		 * Without this the thread would execute the instruction again,
		 * and cause the exception for ever. The default action ends the
		 * process.
		 */
		p->action[sig].sa_handler = SIG_DFL;
		current->sigmask &= ~sigmask(sig);
	}
	__atomic_or_fetch(&current->sigpending, sigmask(sig), __ATOMIC_RELAXED);
	spin_unlock(&p->lock);
	thread_notify(current, WORK_SIGNAL);
}

/*
 * Ignored signals stay ignored. Process 1 may have signals pending that it had
 * handlers for: with the default action they would end it now.
 */
void
signal_exec(struct proc *p)
{
	spin_lock(&p->lock);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction *act = &p->action[sig];

		if (act->sa_handler != SIG_IGN)
			act->sa_handler = SIG_DFL;
		act->sa_mask = 0;
		act->sa_flags = 0;
		if (p == init_proc)
			p->sigpending &= ~sigmask(sig);
	}
	spin_unlock(&p->lock);
}

void
signal_set_mask(sigset_t mask)
{
	struct proc *p = current->proc;

	/*
	 * A sender looks at the mask under the same lock. Either it sees the
	 * new mask and tells this thread, or it came first, and the signal is
	 * found to be pending below.
	 */
	spin_lock(&p->lock);
	current->sigmask = mask & ~UNMASKABLE;
	spin_unlock(&p->lock);
	if (signal_pending())
		thread_notify(current, WORK_SIGNAL);
}

/* For si_addr: the instruction that failed, or what it couldn't access. */
static void *
fault_address(void)
{
	const struct trapframe *tf = &current->tf;

	if (tf->scause == CAUSE_ILLEGAL || tf->scause == CAUSE_BREAKPOINT)
		return (void *)tf->sepc;
	return (void *)tf->stval;
}

/* Does sig end or stop the process? Only with the default action. */
static bool
halts(const struct sigaction *act, int sig)
{
	return act->sa_handler == SIG_DFL && sig != SIGCONT &&
	       !(sigmask(sig) & IGNORED);
}

/*
 * Choose one signal that is pending and not blocked. Returns its number, or 0;
 * in *act what to do about it; in *info what a handler is told.
 *
 * - A fault of the thread comes first: si_addr is about the registers as they
 *   are now, and another signal's handler would change them.
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
	unsigned long ready;
	int sig = 0;

	spin_lock(&p->lock);
	ready = current->sigpending & ~current->sigmask;
	if (ready == 0)
		ready = p->sigpending & ~current->sigmask;
	if (ready != 0) {
		sig = __builtin_ctzl(ready);
		*info = (siginfo_t){.si_signo = sig, .si_code = SI_USER};
		if (current->sigpending & sigmask(sig))
			info->si_addr = fault_address();
		*act = p->action[sig];
		if (!halts(act, sig)) {
			current->sigpending &= ~sigmask(sig);
			p->sigpending &= ~sigmask(sig);
		}
		if (act->sa_flags & SA_RESETHAND)
			p->action[sig].sa_handler = SIG_DFL;
	}
	spin_unlock(&p->lock);
	return sig;
}

bool
signal_halting(void)
{
	struct proc *p = current->proc;
	bool any;

	must_hold(&proc_tree_lock);
	any = p->state != PROC_ALIVE;
	if (!signal_pending())
		return any;
	spin_lock(&p->lock);
	for (int sig = 1; sig < NSIG; sig++)
		any |= p->sigpending & ~current->sigmask & sigmask(sig) &&
		       halts(&p->action[sig], sig);
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
	if (p->state == PROC_ALIVE && p->sigpending & sigmask(sig) &&
	    !(p->sigpending & sigmask(SIGKILL))) {
		p->state = PROC_STOPPED;
		proc_tell_parent(p, STATUS_STOPPED(sig));
		spin_lock(&p->lock);
		p->sigpending &= ~sigmask(sig);
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
 * If there is no stack for the frame, the process ends. After sigsuspend, the
 * mask that sigreturn restores is the one before that call; so sigmask_restore
 * is cleared only after the frame has been made.
 */
static void
run_handler(int sig, const struct sigaction *act, const siginfo_t *info)
{
	struct thread *t = current;
	sigset_t mask = t->sigmask | act->sa_mask;

	interrupt_call(act);
	if (signal_push_frame(info, (uintptr_t)act->sa_handler) < 0)
		proc_exit(STATUS_KILLED(SIGSEGV));
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
		if (halts(&act, sig) && sigmask(sig) & STOPS)
			stop(sig);
		else if (halts(&act, sig))
			proc_exit(STATUS_KILLED(sig));
		else if (act.sa_handler != SIG_DFL && act.sa_handler != SIG_IGN)
			run_handler(sig, &act, &info);
	}
	if (current->sigmask_restore) {
		/* sigsuspend without a handler: the call is made again. */
		current->sigmask_restore = false;
		signal_set_mask(current->sigmask_saved);
	}
	if (current->restart) {
		current->restart = false;
		current->tf.sepc -= ECALL_SIZE;
	}
}

long
sys_kill(const unsigned long *arg)
{
	pid_t pid = arg[0];
	int sig = arg[1], r = -ESRCH;

	if (sig != 0 && !valid(sig))
		return -EINVAL;
	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		/* -1 spares process 1 and the caller. */
		if (pid == -1 && (p == init_proc || p == current->proc))
			continue;
		if (proc_matches(p, pid)) {
			signal_post(p, sig);
			r = 0;
		}
	}
	spin_unlock(&proc_tree_lock);
	return r;
}

/* Set what p does on sig; if it now ignores that, it is no longer pending. */
static void
set_action(struct proc *p, int sig, const struct sigaction *act,
	   uintptr_t restorer)
{
	spin_lock(&p->lock);
	p->action[sig] = *act;
	p->sigrestorer = restorer;
	if (ignored(p, sig))
		p->sigpending &= ~sigmask(sig);
	spin_unlock(&p->lock);
}

long
sys_sigaction(const unsigned long *arg)
{
	struct proc *p = current->proc;
	int sig = arg[0];
	struct sigaction act, old;

	if (!valid(sig))
		return -EINVAL;
	if (arg[1] != 0) {
		if (sigmask(sig) & UNMASKABLE)
			return -EINVAL;
		if (copy_in(&act, arg[1], sizeof(act)) < 0)
			return -EFAULT;
	}
	spin_lock(&p->lock);
	old = p->action[sig];
	spin_unlock(&p->lock);
	if (arg[2] != 0 && copy_out(arg[2], &old, sizeof(old)) < 0)
		return -EFAULT;
	if (arg[1] != 0)
		set_action(p, sig, &act, arg[3]);
	return 0;
}

long
sys_sigprocmask(const unsigned long *arg)
{
	sigset_t old = current->sigmask, set = 0;
	int how = arg[0];

	if (arg[1] != 0) {
		if (how != SIG_BLOCK && how != SIG_UNBLOCK &&
		    how != SIG_SETMASK)
			return -EINVAL;
		if (copy_in(&set, arg[1], sizeof(set)) < 0)
			return -EFAULT;
	}
	if (arg[2] != 0 && copy_out(arg[2], &old, sizeof(old)) < 0)
		return -EFAULT;
	if (arg[1] == 0)
		return 0;
	if (how == SIG_BLOCK)
		set |= old;
	else if (how == SIG_UNBLOCK)
		set = old & ~set;
	signal_set_mask(set);
	return 0;
}

long
sys_sigpending(const unsigned long *arg)
{
	sigset_t set = (current->proc->sigpending | current->sigpending) &
		       current->sigmask;

	return copy_out(arg[0], &set, sizeof(set));
}

/* signal_deliver restores the old mask, or sigreturn after a handler. */
long
sys_sigsuspend(const unsigned long *arg)
{
	sigset_t mask;

	if (copy_in(&mask, arg[0], sizeof(mask)) < 0)
		return -EFAULT;
	current->sigmask_saved = current->sigmask;
	current->sigmask_restore = true;
	signal_set_mask(mask);
	return sleep_until(WAIT_FOREVER);
}
