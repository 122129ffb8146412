/*
 * Sending signals, to a process or to one of its threads.
 *
 * signal_post adds the signal to those that are pending (pending.c), and tells
 * the threads that don't block it: they end an interruptible wait, and look at
 * what is pending on their way to user mode (WORK_SIGNAL). One that would have
 * no effect is dropped at once, unless it's blocked: there may be a handler for
 * it, or a sigwait, by the time it no longer is.
 *
 * Actions and pending signals are under p->lock, states under proc_tree_lock.
 */
#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "exit.h"
#include "pending.h"
#include "proc.h"
#include "signal.h"
#include "threads.h"

/* What concerns a process as a whole, whichever thread it is sent to. */
#define WHOLE (sigmask(SIGKILL) | sigmask(SIGCONT) | SIGNALS_STOP)

siginfo_t
signal_info(int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	if (code != SI_KERNEL)
		info.si_pid = current->proc->pid;
	return info;
}

/*
 * Would sig have no effect on p? (Not asked of SIGCONT, which always has one.)
 * The machine is switched off when process 1 ends; so that one ignores all
 * signals for which it has no handler, and nobody can have one for SIGKILL and
 * SIGSTOP. Its own faults still end it: see signal_fault.
 */
bool
signal_ignored(struct proc *p, int sig)
{
	_sig_func_ptr handler = signal_action(p, sig)->sa_handler;

	return handler == SIG_IGN ||
	       (handler == SIG_DFL &&
		(p == init_proc || sigmask(sig) & SIGNALS_IGNORED));
}

/* Does thread t block sig; or, if t is NULL, does any thread of p? */
static bool
blocked(const struct proc *p, const struct thread *t, int sig)
{
	must_hold(&p->lock);
	if (t != NULL)
		return (t->sigmask | t->sigwait) & sigmask(sig);
	list_each (struct thread, any, &p->threads, proc_link)
		if ((any->sigmask | any->sigwait) & sigmask(sig))
			return true;
	return false;
}

static void
tell(struct thread *t, int sig)
{
	if (t->sigmask & sigmask(sig))
		return;
	thread_notify(t, WORK_SIGNAL);
	thread_wake(t, true);
}

void
signal_tell(struct proc *p, int sig)
{
	must_hold(&p->lock);
	list_each (struct thread, t, &p->threads, proc_link)
		tell(t, sig);
}

/* NULL: p has no such thread. */
static struct thread *
find_thread(struct proc *p, pid_t tid)
{
	must_hold(&p->lock);
	list_each (struct thread, t, &p->threads, proc_link)
		if (t->tid == tid)
			return t;
	return NULL;
}

/* Make a signal pending for p, or for t unless that is NULL. SIGCONT cancels
 * pending stop signals, and these cancel a pending SIGCONT. */
static int
make_pending(struct proc *p, struct thread *t, const siginfo_t *info)
{
	int sig = info->si_signo, r;

	must_hold(&p->lock);
	if (sigmask(sig) & WHOLE)
		t = NULL;
	if (sig == SIGCONT)
		pending_forget(p, &p->pending, SIGNALS_STOP);
	else if (sigmask(sig) & SIGNALS_STOP)
		pending_forget(p, &p->pending, sigmask(SIGCONT));
	if (sig != SIGCONT && signal_ignored(p, sig) &&
	    (p == init_proc || !blocked(p, t, sig)))
		return 0;
	r = pending_add(p, t != NULL ? &t->pending : &p->pending, info);
	if (r == 0 && t != NULL)
		tell(t, sig);
	else if (r == 0)
		signal_tell(p, sig);
	return r;
}

int
signal_post(struct proc *p, pid_t tid, const siginfo_t *info)
{
	struct thread *t = NULL;
	int sig = info->si_signo, r = 0;

	must_hold(&proc_tree_lock);
	if (p->state >= PROC_EXITING)
		return -ESRCH;
	spin_lock(&p->lock);
	if (tid != 0)
		t = find_thread(p, tid);
	if (tid != 0 && t == NULL)
		r = -ESRCH;
	else if (sig != 0)
		r = make_pending(p, t, info);
	spin_unlock(&p->lock);
	if (sig == SIGKILL) /* it neither stops nor goes on any more */
		p->status_new = false;
	if (p->state == PROC_STOPPED && (sig == SIGCONT || sig == SIGKILL)) {
		p->state = PROC_ALIVE;
		wake_all(&p->cont_wait);
		if (sig == SIGCONT)
			proc_tell_parent(p, STATUS_CONTINUED);
	}
	return r;
}

void
signal_send(struct proc *p, int sig)
{
	siginfo_t info = signal_info(sig, SI_KERNEL);

	spin_lock(&proc_tree_lock);
	signal_post(p, 0, &info);
	spin_unlock(&proc_tree_lock);
}

bool
signal_send_group(pid_t pgrp, int sig)
{
	siginfo_t info = signal_info(sig, SI_KERNEL);
	bool taken = false;

	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pgrp == pgrp)
			taken |= signal_post(p, 0, &info) == 0;
	spin_unlock(&proc_tree_lock);
	return taken;
}

void
signal_fault(int sig, int code, uintptr_t address)
{
	struct proc *p = current->proc;

	spin_lock(&p->lock);
	if (current->sigmask & sigmask(sig) || signal_ignored(p, sig)) {
		/*
		 * Without this the thread would execute the instruction again,
		 * and cause the exception for ever. The default action ends the
		 * process.
		 */
		signal_action(p, sig)->sa_handler = SIG_DFL;
		current->sigmask &= ~sigmask(sig);
	}
	spin_unlock(&p->lock);
	current->fault = sig;
	current->fault_code = code;
	current->fault_address = address;
	thread_notify(current, WORK_SIGNAL);
}
