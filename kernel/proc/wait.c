/*
 * What a parent learns of its children: wait4, waitid, and how much time they
 * took. exit.c ends a process; what is left then is freed here.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/list.h"
#include "mm/uaccess.h"
#include "sched/clock.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "exit.h"
#include "proc.h"
#include "threads.h"

/* Which children, by one of these if it isn't 0, and what about them: options
 * as waitid has them. */
struct wanted {
	pid_t pid, pgrp;
	int options;
};

#define OWN_GROUP (-1) /* of wait_for */

/* What has become of a child, and how much time it had, with its children. */
struct news {
	pid_t pid; /* 0: there are no news */
	int status;
	clock_t utime, stime;
};

static struct timeval
time_of_ticks(clock_t ticks)
{
	return (struct timeval){
	    .tv_sec = ticks / HZ,
	    .tv_usec = ticks % HZ * (1000000 / HZ),
	};
}

static struct rusage
usage_of(clock_t utime, clock_t stime)
{
	return (struct rusage){
	    .ru_utime = time_of_ticks(utime),
	    .ru_stime = time_of_ticks(stime),
	};
}

static bool
is_wanted(const struct proc *child, const struct wanted *w)
{
	must_hold(&proc_tree_lock);
	return (w->pid == 0 || child->pid == w->pid) &&
	       (w->pgrp == 0 || child->pgrp == w->pgrp);
}

/* Has child a status to report, of a kind that the options ask for? */
static bool
has_news(const struct proc *child, int options)
{
	int asked;

	must_hold(&proc_tree_lock);
	if (child->state == PROC_ZOMBIE)
		return options & WEXITED;
	asked = child->status == STATUS_CONTINUED ? WCONTINUED : WSTOPPED;
	return child->status_new && options & asked;
}

/* A child with news, or NULL. *any: is any child wanted? */
static struct proc *
find_child(const struct wanted *w, bool *any)
{
	must_hold(&proc_tree_lock);
	*any = false;
	list_each (struct proc, child, &current->proc->children, sibling) {
		if (!is_wanted(child, w))
			continue;
		*any = true;
		if (has_news(child, w->options))
			return child;
	}
	return NULL;
}

/*
 * 0 and *child, which may be NULL with WNOHANG; -ECHILD; or -ERESTART: a signal
 * came. Children are looked at once more after that, so a child's end isn't
 * missed for its own SIGCHLD. proc_tree_lock is released during the wait.
 */
static int
await_child(const struct wanted *w, struct proc **child)
{
	int interrupted = 0;
	bool any;

	must_hold(&proc_tree_lock);
	while ((*child = find_child(w, &any)) == NULL) {
		if (!any)
			return -ECHILD;
		if (w->options & WNOHANG || interrupted != 0)
			return interrupted;
		interrupted = wait_on(&current->proc->child_wait,
				      &proc_tree_lock);
	}
	return 0;
}

/*
 * Free a zombie that has left the tree. Its last threads may still be using
 * their stacks, on other harts; they can't be preempted, so this won't be for
 * long. Under -icount QEMU may have to be made to run those harts (clock_nap).
 */
static void
free_zombie(struct proc *p)
{
	for (threads_reap(p); !list_empty(&p->gone); threads_reap(p)) {
		thread_yield(); /* to one on this hart */
		clock_nap();
	}
	proc_free(p);
}

/*
 * Fill in the news. A status that is taken is no longer new. A zombie leaves
 * the tree, and its times, with those of its own children, are added to the
 * parent's. True: it is to be freed.
 */
static bool
collect(struct proc *child, int options, struct news *news)
{
	struct proc *p = current->proc;

	must_hold(&proc_tree_lock);
	*news = (struct news){
	    .pid = child->pid,
	    .status = child->status,
	    .utime = child->task.utime + child->child_utime,
	    .stime = child->task.stime + child->child_stime,
	};
	if (options & WNOWAIT)
		return false;
	child->status_new = false;
	if (child->state != PROC_ZOMBIE)
		return false;
	p->child_utime += news->utime;
	p->child_stime += news->stime;
	proc_leave(child);
	return true;
}

/* Wait for news: the child's pid; 0: WNOHANG, and there are none yet; or an
 * errno. Each of pid and pgrp may be 0, for any. */
static long
wait_for(pid_t pid, pid_t pgrp, int options, struct news *news)
{
	struct wanted w = {.pid = pid, .pgrp = pgrp, .options = options};
	struct proc *child;
	bool zombie = false;
	int r;

	*news = (struct news){0};
	spin_lock(&proc_tree_lock);
	if (pgrp == OWN_GROUP)
		w.pgrp = current->proc->pgrp;
	r = await_child(&w, &child);
	if (r == 0 && child != NULL)
		zombie = collect(child, options, news);
	spin_unlock(&proc_tree_lock);
	if (zombie)
		free_zombie(child);
	return r < 0 ? r : news->pid;
}

/* The times, to an address that was probed; 0: nobody wants them. */
static void
tell_usage(const struct news *news, uintptr_t user)
{
	struct rusage usage;

	if (user == 0 || news->pid == 0)
		return;
	usage = usage_of(news->utime, news->stime);
	copy_out(user, &usage, sizeof(usage));
}

/* Can these bytes of user memory be written? 0 or -EFAULT; nothing changes. At
 * 0 there are none to be. */
static int
probe(uintptr_t user, size_t size)
{
	char bytes[sizeof(struct rusage)];
	int r;

	if (user == 0)
		return 0;
	r = copy_in(bytes, user, size);
	return r < 0 ? r : copy_out(user, bytes, size);
}

/* wait4(pid, int *status, options, struct rusage *). Memory is probed first:
 * once a child's status is taken it's too late to fail. */
long
sys_wait4(const unsigned long *arg)
{
	pid_t pid = arg[0], pgrp = 0;
	int options = arg[2];
	struct news news;
	long r = probe(arg[1], sizeof(news.status));

	if (options & ~(WNOHANG | WUNTRACED | WCONTINUED | __WALL))
		return -EINVAL;
	if (r == 0)
		r = probe(arg[3], sizeof(struct rusage));
	if (r < 0)
		return r;
	if (pid == INT_MIN)
		return -ESRCH;
	if (pid <= 0) {
		pgrp = pid == 0 ? OWN_GROUP : pid == -1 ? 0 : -pid;
		pid = 0;
	}
	r = wait_for(pid, pgrp, options | WEXITED, &news);
	if (r <= 0)
		return r;
	if (arg[1] != 0)
		copy_out(arg[1], &news.status, sizeof(news.status));
	tell_usage(&news, arg[3]);
	return r;
}

/* waitid(P_, id, siginfo_t *, options, struct rusage *). Of the siginfo only
 * what Linux writes. */
#define INFO_SIZE (offsetof(siginfo_t, si_status) + sizeof(int))

long
sys_waitid(const unsigned long *arg)
{
	const int kinds = WEXITED | WSTOPPED | WCONTINUED;
	int options = arg[3];
	pid_t id = arg[1];
	siginfo_t info = {0};
	struct news news;
	long r;

	if (options & ~(WNOHANG | WNOWAIT | __WALL | kinds) ||
	    !(options & kinds))
		return -EINVAL;
	if (arg[0] > P_PGID || (arg[0] == P_PID && id <= 0) || id < 0)
		return -EINVAL;
	r = probe(arg[2], INFO_SIZE);
	if (r == 0)
		r = probe(arg[4], sizeof(struct rusage));
	if (r < 0)
		return r;
	r = wait_for(arg[0] == P_PID ? id : 0,
		     arg[0] != P_PGID ? 0
		     : id == 0        ? OWN_GROUP
				      : id,
		     options, &news);
	if (r < 0)
		return r;
	if (news.pid != 0)
		info = exit_info(news.pid, news.status);
	if (arg[2] != 0)
		copy_out(arg[2], &info, INFO_SIZE);
	tell_usage(&news, arg[4]);
	return 0;
}

/* getrusage(who, struct rusage *): the times; the rest is 0. Of one thread they
 * aren't known. */
long
sys_getrusage(const unsigned long *arg)
{
	const struct proc *p = current->proc;
	struct rusage usage;

	spin_lock(&proc_tree_lock);
	if ((int)arg[0] == RUSAGE_CHILDREN)
		usage = usage_of(p->child_utime, p->child_stime);
	else
		usage = usage_of(p->task.utime, p->task.stime);
	spin_unlock(&proc_tree_lock);
	if ((int)arg[0] != RUSAGE_CHILDREN && (int)arg[0] != RUSAGE_SELF)
		return -EINVAL;
	return copy_out(arg[1], &usage, sizeof(usage));
}
