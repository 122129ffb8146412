/*
 * The system calls about signals, but for rt_sigreturn and sigaltstack
 * (signal_frame.c). Each says what it is given as Linux calls it; a set of
 * signals has 64 bits, and callers that say it has another size fail with
 * EINVAL.
 */
#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "base/syscall.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "pending.h"
#include "proc.h"
#include "signal.h"
#include "sleep.h"

#define UNMASKABLE (sigmask(SIGKILL) | sigmask(SIGSTOP))
#define FLAGS                                                                 \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | \
	 SA_NODEFER | SA_RESETHAND)

static bool
valid(int sig)
{
	return sig > 0 && sig < NSIG;
}

/* --- Sending --- */

/* kill(pid, sig): to a process; 0: the caller's group; -1: to all but process 1
 * and the caller; -pgrp: to that group. Signal 0 only asks who is there. */
long
sys_kill(const unsigned long *arg)
{
	pid_t pid = arg[0];
	int sig = arg[1], r = -ESRCH;
	siginfo_t info = signal_info(sig, SI_USER);

	if (sig != 0 && !valid(sig))
		return -EINVAL;
	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		/* -1 spares process 1 and the caller. */
		if (pid == -1 && (p == init_proc || p == current->proc))
			continue;
		if (proc_matches(p, pid)) {
			signal_post(p, 0, &info);
			r = 0;
		}
	}
	spin_unlock(&proc_tree_lock);
	return r;
}

/* Send to a thread of the process pid (0: of whichever has it); or, if tid is
 * 0, to that process. */
static long
send(pid_t pid, pid_t tid, const siginfo_t *info)
{
	int r = -ESRCH;

	if (info->si_signo != 0 && !valid(info->si_signo))
		return -EINVAL;
	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		if (pid == 0 || p->pid == pid)
			r = signal_post(p, tid, info);
		if (r != -ESRCH)
			break;
	}
	spin_unlock(&proc_tree_lock);
	return r;
}

/* tkill(tid, sig) */
long
sys_tkill(const unsigned long *arg)
{
	pid_t tid = arg[0];
	siginfo_t info = signal_info(arg[1], SI_TKILL);

	return tid > 0 ? send(0, tid, &info) : -EINVAL;
}

/* tgkill(pid, tid, sig) */
long
sys_tgkill(const unsigned long *arg)
{
	pid_t pid = arg[0], tid = arg[1];
	siginfo_t info = signal_info(arg[2], SI_TKILL);

	return pid > 0 && tid > 0 ? send(pid, tid, &info) : -EINVAL;
}

/* Send what is at a user address as si_code and the rest. A process can't
 * pretend to another that the kernel sent it, or kill or tkill. */
static long
send_info(pid_t pid, pid_t tid, int sig, uintptr_t user)
{
	siginfo_t info;

	if (copy_in(&info, user, sizeof(info)) < 0)
		return -EFAULT;
	info.si_signo = sig;
	info.__zero = 0;
	if ((info.si_code >= 0 || info.si_code == SI_TKILL) &&
	    pid != current->proc->pid)
		return -EPERM;
	return send(pid, tid, &info);
}

/* rt_sigqueueinfo(pid, sig, info) */
long
sys_rt_sigqueueinfo(const unsigned long *arg)
{
	pid_t pid = arg[0];

	return pid > 0 ? send_info(pid, 0, arg[1], arg[2]) : -ESRCH;
}

/* rt_tgsigqueueinfo(pid, tid, sig, info) */
long
sys_rt_tgsigqueueinfo(const unsigned long *arg)
{
	pid_t pid = arg[0], tid = arg[1];

	if (pid <= 0 || tid <= 0)
		return -EINVAL;
	return send_info(pid, tid, arg[2], arg[3]);
}

/* --- Actions and masks --- */

/* Set what p does on sig; if it now ignores that, it is no longer pending, for
 * its threads neither. */
static void
set_action(struct proc *p, int sig, const struct sigaction *act)
{
	spin_lock(&p->lock);
	*signal_action(p, sig) = *act;
	if (signal_ignored(p, sig)) {
		pending_forget(p, &p->pending, sigmask(sig));
		list_each (struct thread, t, &p->threads, proc_link)
			pending_forget(p, &t->pending, sigmask(sig));
	}
	spin_unlock(&p->lock);
}

/* rt_sigaction(sig, act, old, size). Flags that aren't known are left out, so
 * that a program can find out which are. */
long
sys_rt_sigaction(const unsigned long *arg)
{
	struct proc *p = current->proc;
	int sig = arg[0];
	struct sigaction act, old;

	if (!valid(sig) || arg[3] != sizeof(sigset_t))
		return -EINVAL;
	if (arg[1] != 0) {
		if (copy_in(&act, arg[1], sizeof(act)) < 0)
			return -EFAULT;
		if (sigmask(sig) & UNMASKABLE)
			return -EINVAL;
		act.sa_flags &= FLAGS;
		act.sa_mask &= ~UNMASKABLE;
	}
	spin_lock(&p->lock);
	old = *signal_action(p, sig);
	spin_unlock(&p->lock);
	if (arg[2] != 0 && copy_out(arg[2], &old, sizeof(old)) < 0)
		return -EFAULT;
	if (arg[1] != 0)
		set_action(p, sig, &act);
	return 0;
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

void
signal_swap_mask(sigset_t mask)
{
	current->sigmask_saved = current->sigmask;
	current->sigmask_restore = true;
	signal_set_mask(mask);
}

void
signal_unswap_mask(void)
{
	current->sigmask_restore = false;
	signal_set_mask(current->sigmask_saved);
}

int
signal_copy_in_set(sigset_t *set, uintptr_t user, size_t size)
{
	return size == sizeof(*set) ? copy_in(set, user, size) : -EINVAL;
}

/* rt_sigprocmask(how, set, old, size) */
long
sys_rt_sigprocmask(const unsigned long *arg)
{
	sigset_t old = current->sigmask, set = 0;
	int how = arg[0];

	if (arg[3] != sizeof(set))
		return -EINVAL;
	if (arg[1] != 0) {
		if (copy_in(&set, arg[1], sizeof(set)) < 0)
			return -EFAULT;
		if (how != SIG_BLOCK && how != SIG_UNBLOCK &&
		    how != SIG_SETMASK)
			return -EINVAL;
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

/* --- Pending signals --- */

/* rt_sigpending(set, size): as in Linux the size may be smaller. */
long
sys_rt_sigpending(const unsigned long *arg)
{
	sigset_t set = (current->proc->pending.set | current->pending.set) &
		       current->sigmask;

	if (arg[1] > sizeof(set))
		return -EINVAL;
	return copy_out(arg[0], &set, arg[1]);
}

/* rt_sigsuspend(mask, size): signal_deliver restores the old mask, or sigreturn
 * after a handler. */
long
sys_rt_sigsuspend(const unsigned long *arg)
{
	sigset_t mask;
	int r = signal_copy_in_set(&mask, arg[0], arg[1]);

	if (r < 0)
		return r;
	signal_swap_mask(mask);
	return sleep_until(WAIT_FOREVER);
}

/* Take a pending signal of the set. 0: there is none. */
static int
take_of(sigset_t set, siginfo_t *info)
{
	struct proc *p = current->proc;
	struct pending *from = &current->pending;
	int sig = 0;

	spin_lock(&p->lock);
	if (!(from->set & set))
		from = &p->pending;
	if (from->set & set) {
		sig = __builtin_ctzl(from->set & set) + 1;
		pending_take(p, from, sig, info);
	}
	spin_unlock(&p->lock);
	return sig;
}

/*
 * Wait for a signal of the set, which the caller most likely blocks: meanwhile
 * it isn't blocked, so that it ends the wait. sigwait tells senders that it
 * isn't to be dropped for having no effect (signal_send.c).
 */
static int
await_of(sigset_t set, uint64_t deadline, siginfo_t *info)
{
	sigset_t mask = current->sigmask;
	int sig = take_of(set, info), r = 0;

	if (sig != 0 || deadline == 0)
		return sig != 0 ? sig : -EAGAIN;
	current->sigwait = set & mask;
	signal_set_mask(mask & ~set);
	while (sig == 0 && r == 0) {
		sig = take_of(set, info);
		if (sig == 0)
			r = sleep_until(deadline);
	}
	if (sig == 0)
		sig = take_of(set, info);
	signal_set_mask(mask);
	current->sigwait = 0;
	if (sig != 0)
		return sig;
	return r == -ETIMEDOUT ? -EAGAIN : -EINTR;
}

/* rt_sigtimedwait(set, info, timeout, size). Another signal ends it (EINTR), as
 * does SIGCONT after a stop. */
long
sys_rt_sigtimedwait(const unsigned long *arg)
{
	uint64_t deadline = WAIT_FOREVER;
	siginfo_t info;
	sigset_t set;
	int r = signal_copy_in_set(&set, arg[0], arg[3]);

	if (r == 0 && arg[2] != 0)
		r = sleep_copy_in(arg[2], &deadline);
	if (r < 0)
		return r;
	if (arg[2] != 0 && deadline != 0)
		deadline += rdtime();
	r = await_of(set & ~UNMASKABLE, deadline, &info);
	if (r > 0 && arg[1] != 0 && copy_out(arg[1], &info, sizeof(info)) < 0)
		return -EFAULT;
	return r;
}
