/*
 * timer_create and its calls: timers that send a signal when they are due, to
 * the process or to one of its threads, once or again and again.
 *
 * A process has no table of them until it makes the first. A timer's number is
 * its place there. The tick on which a timer is due posts the signal; if the
 * one before still waits, that counts one more as missed (pending.c).
 *
 * The table's lock comes before that of all timers, under which they ring and
 * take p->lock. So a table that p->lock leads to may only be used under it for
 * what a signal tells, `overrun'.
 */
#include "ptimer.h"

#include <errno.h>
#include <time.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "base/syscall.h"
#include "mm/kmalloc.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"
#include "sched/timer.h"

#include "proc.h"
#include "signal.h"

#define PTIMERS_MAX 32

struct ptimer {
	struct proc *proc;
	bool used;
	int clock;
	pid_t tid;      /* of the thread to signal; 0: the process */
	siginfo_t info; /* its signal; number 0: none */
	struct timer timer;
	int overrun; /* what the last signal told; under proc.lock */
};

struct ptimers {
	struct spinlock lock; /* level 1; guards the rest */
	struct ptimer timer[PTIMERS_MAX];
};

/* One is due. From a tick, with the timers' lock held. */
static void
ring(void *arg)
{
	struct ptimer *t = arg;
	siginfo_t info = t->info;

	if (info.si_signo == 0)
		return;
	info.si_overrun = t->timer.missed;
	spin_lock(&proc_tree_lock);
	signal_post(t->proc, t->tid, &info);
	spin_unlock(&proc_tree_lock);
}

void
ptimer_taken(struct proc *p, const siginfo_t *info)
{
	unsigned int id = info->si_timerid;

	must_hold(&p->lock);
	if (p->ptimers != NULL && id < PTIMERS_MAX)
		p->ptimers->timer[id].overrun = info->si_overrun;
}

/* The current process's table, made if there is none. NULL: no memory. */
static struct ptimers *
table(void)
{
	struct proc *p = current->proc;
	struct ptimers *new;

	if (p->ptimers != NULL)
		return p->ptimers;
	new = kzalloc(sizeof(*new));
	if (new == NULL)
		return NULL;
	new->lock = (struct spinlock)SPINLOCK1("process's timers");
	for (int i = 0; i < PTIMERS_MAX; i++)
		timer_init(&new->timer[i].timer, ring, &new->timer[i]);
	spin_lock(&p->lock);
	if (p->ptimers == NULL) {
		p->ptimers = new;
		new = NULL;
	}
	spin_unlock(&p->lock);
	kfree(new); /* another thread was first */
	return p->ptimers;
}

/* Once a timer isn't set, and the lock of all timers has been had for that, it
 * doesn't ring any more. */
void
ptimer_free_all(struct proc *p)
{
	struct ptimers *all = p->ptimers;

	if (all == NULL)
		return;
	for (int i = 0; i < PTIMERS_MAX; i++)
		timer_set(&all->timer[i].timer, WAIT_FOREVER, 0);
	spin_lock(&p->lock);
	p->ptimers = NULL;
	spin_unlock(&p->lock);
	kfree(all);
}

/* A timer of the current process, with the table's lock held; or NULL. (Clang
 * can't follow a lock that is held depending on a result: so it and its callers
 * are UNGUARDED.) */
static UNGUARDED struct ptimer *
find(int id, struct ptimers **all)
{
	struct ptimer *t;

	*all = current->proc->ptimers;
	if (*all == NULL || id < 0 || id >= PTIMERS_MAX)
		return NULL;
	t = &(*all)->timer[id];
	spin_lock(&(*all)->lock);
	if (t->used)
		return t;
	spin_unlock(&(*all)->lock);
	return NULL;
}

/* --- The calls --- */

/* What timer_create is told of the signal: Linux's layout. */
struct event {
	union sigval value;
	int signo, notify, tid, unused[11];
};

enum { NOTIFY_SIGNAL, NOTIFY_NONE, NOTIFY_THREAD = 4 };

/* Is tid a thread of the current process? */
static bool
is_own(pid_t tid)
{
	siginfo_t none = signal_info(0, SI_KERNEL);
	int r;

	spin_lock(&proc_tree_lock);
	r = signal_post(current->proc, tid, &none);
	spin_unlock(&proc_tree_lock);
	return tid > 0 && r == 0;
}

static int
event_valid(const struct event *e)
{
	if (e->notify == NOTIFY_NONE)
		return true;
	if (e->signo <= 0 || e->signo >= NSIG)
		return false;
	return e->notify == NOTIFY_SIGNAL ||
	       (e->notify == NOTIFY_THREAD && is_own(e->tid));
}

/* timer_create(clock, event, id): SIGALRM if there is no event. */
long
sys_timer_create(const unsigned long *arg)
{
	struct event e = {.signo = SIGALRM, .notify = NOTIFY_SIGNAL};
	int clock = arg[0], id = 0;
	struct ptimers *all;
	struct ptimer *t;

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC &&
	    clock != CLOCK_BOOTTIME)
		return -EINVAL;
	if (arg[1] != 0 && copy_in(&e, arg[1], sizeof(e)) < 0)
		return -EFAULT;
	if (!event_valid(&e))
		return -EINVAL;
	all = table();
	if (all == NULL)
		return -EAGAIN;
	spin_lock(&all->lock);
	while (id < PTIMERS_MAX && all->timer[id].used)
		id++;
	if (id < PTIMERS_MAX) {
		t = &all->timer[id];
		t->used = true;
		t->proc = current->proc;
		t->clock = clock;
		t->tid = e.notify == NOTIFY_THREAD ? e.tid : 0;
		t->info = signal_info(e.notify == NOTIFY_NONE ? 0 : e.signo,
				      SI_TIMER);
		t->info.si_timerid = id;
		t->info.si_value = e.value;
		if (arg[1] == 0)
			t->info.si_value.sival_int = id;
	}
	spin_unlock(&all->lock);
	if (id == PTIMERS_MAX)
		return -EAGAIN;
	if (copy_out(arg[2], &id, sizeof(id)) == 0)
		return 0;
	all->timer[id].used = false;
	return -EFAULT;
}

/* timer_delete(id). A signal that waits still comes. */
UNGUARDED long
sys_timer_delete(const unsigned long *arg)
{
	struct ptimers *all;
	struct ptimer *t = find(arg[0], &all);

	if (t == NULL)
		return -EINVAL;
	timer_set(&t->timer, WAIT_FOREVER, 0);
	t->used = false;
	spin_unlock(&all->lock);
	return 0;
}

/* What is set: the interval, and what is left, which is 0 only if it's not. */
static struct itimerspec
setting(const struct ptimer *t)
{
	uint64_t deadline = t->timer.deadline, now = rdtime(), left = 0;

	if (deadline != WAIT_FOREVER)
		left = deadline > now ? deadline - now : 1;
	return (struct itimerspec){
	    .it_interval = time_of_ns(time_of_counts(t->timer.interval)),
	    .it_value = time_of_ns(time_of_counts(left)),
	};
}

static int
counts_of(const struct timespec *ts, uint64_t *counts)
{
	return time_counts(ts->tv_sec, ts->tv_nsec, NS_PER_SEC, counts);
}

static uint64_t
deadline_of(uint64_t value, int clock, bool absolute)
{
	if (value == 0)
		return WAIT_FOREVER;
	if (!absolute)
		return rdtime() + value;
	return clock == CLOCK_REALTIME ? time_since_1970(value) : value;
}

/* timer_settime(id, flags, new, old): TIMER_ABSTIME, a time of the clock */
UNGUARDED long
sys_timer_settime(const unsigned long *arg)
{
	struct itimerspec new, old;
	uint64_t value, interval;
	struct ptimers *all;
	struct ptimer *t;

	if (arg[2] == 0)
		return -EINVAL;
	if (copy_in(&new, arg[2], sizeof(new)) < 0)
		return -EFAULT;
	if (counts_of(&new.it_value, &value) < 0 ||
	    counts_of(&new.it_interval, &interval) < 0)
		return -EINVAL;
	t = find(arg[0], &all);
	if (t == NULL)
		return -EINVAL;
	old = setting(t);
	timer_set(&t->timer,
		  deadline_of(value, t->clock, arg[1] & TIMER_ABSTIME),
		  interval);
	spin_unlock(&all->lock);
	return arg[3] != 0 ? copy_out(arg[3], &old, sizeof(old)) : 0;
}

/* timer_gettime(id, setting) */
UNGUARDED long
sys_timer_gettime(const unsigned long *arg)
{
	struct itimerspec it;
	struct ptimers *all;
	struct ptimer *t = find(arg[0], &all);

	if (t == NULL)
		return -EINVAL;
	it = setting(t);
	spin_unlock(&all->lock);
	return copy_out(arg[1], &it, sizeof(it));
}

/* timer_getoverrun(id): how often it was due between its last signal and that
 * signal's handler, or while the tick that notices it hadn't come. */
UNGUARDED long
sys_timer_getoverrun(const unsigned long *arg)
{
	struct ptimers *all;
	struct ptimer *t = find(arg[0], &all);
	int overrun;

	if (t == NULL)
		return -EINVAL;
	overrun = t->overrun;
	spin_unlock(&all->lock);
	return overrun;
}
