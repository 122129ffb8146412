/*
 * Signals.
 *
 * Sending one sets a bit in the process (or, for a fault, in the thread) and
 * tells the threads that don't block it: they end an interruptible wait, and
 * look at what is pending on their way to user mode. There signal_deliver
 * acts, or has a handler act (signal_frame.c).
 *
 * A call that a signal interrupted has given -ERESTART. The program counter
 * is then after its ecall, and a0 still holds its first argument. If no
 * handler runs, or one with SA_RESTART, the counter goes back, and the call
 * is made again; else it fails with EINTR. (sigsuspend and nanosleep fail
 * after any handler.)
 */
#include "../syscall.h"
#include "../trap.h"
#include "proc.h"

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
 * Would sig do nothing to p? p's lock is held. (SIGCONT always does.) Without
 * process 1 the machine ends: nothing gets there that it has no handler for,
 * and for SIGKILL and SIGSTOP nobody has one. Its own faults still end it.
 */
static bool
ignored(const struct proc *p, int sig)
{
	_sig_func_ptr handler = p->action[sig].sa_handler;

	return handler == SIG_IGN ||
	       (handler == SIG_DFL &&
		(p == init_proc || sigmask(sig) & IGNORED));
}

void
signal_tell(struct proc *p, int sig)
{
	list_each (struct thread, t, &p->threads, proc_link) {
		if (t->sigmask & sigmask(sig))
			continue;
		thread_notify(t, WORK_SIGNAL);
		thread_wake(t, true);
	}
}

/* Make sig pending for p, and tell its threads. */
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
		/* It can't go on, nor be told: the default is to end it. */
		p->action[sig].sa_handler = SIG_DFL;
		current->sigmask &= ~sigmask(sig);
	}
	__atomic_or_fetch(&current->sigpending, sigmask(sig), __ATOMIC_RELAXED);
	spin_unlock(&p->lock);
	thread_notify(current, WORK_SIGNAL);
}

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
		if (p == init_proc) /* the handlers it asked for are gone */
			p->sigpending &= ~sigmask(sig);
	}
	spin_unlock(&p->lock);
}

void
signal_set_mask(sigset_t mask)
{
	struct proc *p = current->proc;

	/* The lock, so that a sender sees this mask, or this the signal. */
	spin_lock(&p->lock);
	current->sigmask = mask & ~UNMASKABLE;
	spin_unlock(&p->lock);
	if (signal_pending())
		thread_notify(current, WORK_SIGNAL);
}

/* Where the current thread went wrong: what it couldn't reach, or execute. */
static void *
fault_address(void)
{
	const struct trapframe *tf = &current->tf;

	if (tf->scause == CAUSE_ILLEGAL || tf->scause == CAUSE_BREAKPOINT)
		return (void *)tf->sepc;
	return (void *)tf->stval;
}

/* Does this action, the default one, end or stop the process? */
static bool
halts(const struct sigaction *act, int sig)
{
	return act->sa_handler == SIG_DFL && sig != SIGCONT &&
	       !(sigmask(sig) & IGNORED);
}

/*
 * Take one signal off what is pending and not blocked: its number, or 0;
 * what to do about it; and what a handler is told. A fault comes first: other
 * signals' handlers would have it happen elsewhere. One that ends the process
 * stays: no other thread may get past it meanwhile, and call exit. So does one
 * that stops it, until it has: SIGCONT may come before.
 */
static int
take(struct sigaction *act, siginfo_t *info)
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
	bool any = p->state != PROC_ALIVE;

	if (!signal_pending())
		return any;
	spin_lock(&p->lock);
	for (int sig = 1; sig < NSIG; sig++)
		any |= p->sigpending & ~current->sigmask & sigmask(sig) &&
		       halts(&p->action[sig], sig);
	spin_unlock(&p->lock);
	return any;
}

/* If the process has been stopped, all its threads wait here. */
static void
await_continue(void)
{
	struct proc *p = current->proc;

	if (p->state != PROC_STOPPED)
		return; /* whoever stops it tells its threads after */
	spin_lock(&proc_tree_lock);
	while (p->state == PROC_STOPPED)
		wait_uninterruptible(&p->cont_wait, &proc_tree_lock);
	spin_unlock(&proc_tree_lock);
}

/* Stop until continued, unless word to continue has come, which took the signal
 * back, or another thread has seen to it. */
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
 * A handler will run: what becomes of the call that the signal interrupted, if
 * there was one? It may be a sleep that was to go on (so the counter has gone
 * back) and was not yet called again.
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

/* Let the thread go on in a handler. Without a stack for it, that's all. */
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

/* Act on all signals that are pending and not blocked. */
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
		sig = take(&act, &info);
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
		/* sigsuspend, but no handler ran: it will be called again. */
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
		/* All that -1 means is all but these two. */
		if (pid == -1 && (p == init_proc || p == current->proc))
			continue;
		if (proc_meant(p, pid)) {
			signal_post(p, sig);
			r = 0;
		}
	}
	spin_unlock(&proc_tree_lock);
	return r;
}

/* Set what p does on sig; one that it now ignores is no longer pending. */
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
		if (copy_in(&act, arg[1], sizeof act) < 0)
			return -EFAULT;
	}
	spin_lock(&p->lock);
	old = p->action[sig];
	spin_unlock(&p->lock);
	if (arg[2] != 0 && copy_out(arg[2], &old, sizeof old) < 0)
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
		if (copy_in(&set, arg[1], sizeof set) < 0)
			return -EFAULT;
	}
	if (arg[2] != 0 && copy_out(arg[2], &old, sizeof old) < 0)
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

	return copy_out(arg[0], &set, sizeof set);
}

/* Sleep, with another mask, until a signal comes. Never succeeds. */
long
sys_sigsuspend(const unsigned long *arg)
{
	sigset_t mask;

	if (copy_in(&mask, arg[0], sizeof mask) < 0)
		return -EFAULT;
	current->sigmask_saved = current->sigmask;
	current->sigmask_restore = true;
	signal_set_mask(mask);
	return time_sleep(WAIT_FOREVER);
}
