/*
 * What time it is, and what is to happen when.
 *
 * Threads that wait with a time limit, and processes that have an alarm, are
 * on two lists, soonest first. Each tick compares the time with the soonest
 * deadline of all; only when that has come does it take the lock. So a
 * deadline is noticed within a tick, by whichever hart ticks first.
 *
 * A woken thread takes itself off the list. Until then every tick wakes it
 * again: one that was on the list but not yet asleep isn't missed.
 */
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "../clock.h"
#include "../dev/dev.h"
#include "../machine.h"
#include "../syscall.h"
#include "proc.h"

#define NS_PER_SEC 1000000000UL
#define US_PER_SEC 1000000UL
#define NS_PER_US  1000UL
#define NEVER      UINT64_MAX

/* Level 5; guards the lists, and the fields of those on them. */
static struct spinlock callout_lock = SPINLOCK5("callouts");
static struct list sleepers = LIST_INIT(sleepers); /* by deadline */
static struct list alarms = LIST_INIT(alarms);     /* by alarm_deadline */
static uint64_t soonest = NEVER;                   /* read without the lock */

/* What nanosleep waits on: no one wakes it. */
static struct spinlock sleep_lock = SPINLOCK5("nanosleep");
static struct waitq sleep_queue = WAITQ_INIT(sleep_queue);

static uint64_t boot_ns; /* of 1970, when rdtime() was 0 */

static struct thread *
sleeper(struct list *l)
{
	return container_of(l, struct thread, timer_link);
}

static struct proc *
alarmed(struct list *l)
{
	return container_of(l, struct proc, alarm_link);
}

static void
find_soonest(void)
{
	uint64_t when = NEVER;

	if (!list_empty(&sleepers))
		when = sleeper(sleepers.next)->deadline;
	if (!list_empty(&alarms) && alarmed(alarms.next)->alarm_deadline < when)
		when = alarmed(alarms.next)->alarm_deadline;
	__atomic_store_n(&soonest, when, __ATOMIC_RELAXED);
}

void
time_add(struct thread *t, uint64_t deadline)
{
	struct list *l;

	spin_lock(&callout_lock);
	t->deadline = deadline;
	list_each (l, &sleepers)
		if (sleeper(l)->deadline > deadline)
			break;
	list_append(l, &t->timer_link); /* before l */
	find_soonest();
	spin_unlock(&callout_lock);
}

void
time_remove(struct thread *t)
{
	spin_lock(&callout_lock);
	list_remove(&t->timer_link);
	find_soonest();
	spin_unlock(&callout_lock);
}

/* Set p's alarm, which is on no list. 0: it has none. The lock is held. */
static void
alarm_add(struct proc *p, uint64_t deadline)
{
	struct list *l;

	p->alarm_deadline = deadline;
	if (deadline == 0)
		return;
	list_each (l, &alarms)
		if (alarmed(l)->alarm_deadline > deadline)
			break;
	list_append(l, &p->alarm_link); /* before l */
}

/* p's alarm is due: send it, and set the next one, missing out those that
 * have passed as well. The lock is held. */
static void
alarm_ring(struct proc *p, uint64_t now)
{
	uint64_t next = 0, late = now - p->alarm_deadline;

	list_remove(&p->alarm_link);
	if (p->alarm_interval != 0)
		next = now - late % p->alarm_interval + p->alarm_interval;
	alarm_add(p, next);
	signal_send(p, SIGALRM);
}

void
time_tick(uint64_t now)
{
	struct list *l;

	if (now < __atomic_load_n(&soonest, __ATOMIC_RELAXED))
		return;
	spin_lock(&callout_lock);
	list_each (l, &sleepers) {
		if (sleeper(l)->deadline > now)
			break;
		thread_wake(sleeper(l), false);
	}
	while (!list_empty(&alarms) &&
	       alarmed(alarms.next)->alarm_deadline <= now)
		alarm_ring(alarmed(alarms.next), now);
	find_soonest();
	spin_unlock(&callout_lock);
}

static uint64_t
counts_to_ns(uint64_t counts)
{
	uint64_t sec = counts / machine.timebase;
	uint64_t rest = counts % machine.timebase;

	return sec * NS_PER_SEC + rest * NS_PER_SEC / machine.timebase;
}

void
time_init(void)
{
	uint64_t now = rtc_read_ns();

	if (now != 0)
		boot_ns = now - counts_to_ns(rdtime());
}

uint64_t
time_realtime_ns(void)
{
	return boot_ns + counts_to_ns(rdtime());
}

/* A time in units of 1/per_sec s after sec, as timer counts rounded up, and
 * no more than a deadline's sum can take. */
static uint64_t
to_counts(uint64_t sec, uint64_t units, uint64_t per_sec)
{
	const uint64_t max = INT64_MAX;

	if (sec >= max / machine.timebase)
		return max;
	return sec * machine.timebase +
	       (units * machine.timebase + per_sec - 1) / per_sec;
}

static struct timespec
ns_to_timespec(uint64_t ns)
{
	return (struct timespec){
	    .tv_sec = ns / NS_PER_SEC,
	    .tv_nsec = ns % NS_PER_SEC,
	};
}

int
time_deadline(const struct timespec *ts, uint64_t *deadline)
{
	if (ts->tv_sec < 0 || (unsigned long)ts->tv_nsec >= NS_PER_SEC)
		return -EINVAL;
	*deadline = to_counts(ts->tv_sec, ts->tv_nsec, NS_PER_SEC);
	return 0;
}

/* The deadline of a sleep: that of the one which is restarted, or a new one.
 * 0 for a time that is no time. */
static uint64_t
sleep_deadline(const struct timespec *ts)
{
	if (current->sleep_until != 0)
		return current->sleep_until;
	if (ts->tv_sec < 0 || (unsigned long)ts->tv_nsec >= NS_PER_SEC)
		return 0;
	return rdtime() + to_counts(ts->tv_sec, ts->tv_nsec, NS_PER_SEC);
}

/*
 * A signal without a handler (stop, continue) doesn't end a sleep: the call
 * is restarted, and goes on to the deadline it had.
 */
static long
sleep_interrupted(uint64_t deadline, uintptr_t user_remaining)
{
	uint64_t now = rdtime();
	struct timespec left = ns_to_timespec(
	    deadline > now ? counts_to_ns(deadline - now) : 0);

	if (user_remaining != 0 &&
	    copy_out(user_remaining, &left, sizeof left) < 0)
		return -EFAULT;
	current->sleep_until = deadline;
	current->restart_plain = true;
	return -ERESTART;
}

long
sys_nanosleep(const unsigned long *arg)
{
	struct timespec ts;
	uint64_t deadline;
	int r;

	if (copy_in(&ts, arg[0], sizeof ts) < 0)
		return -EFAULT;
	deadline = sleep_deadline(&ts);
	if (deadline == 0)
		return -EINVAL;
	current->sleep_until = 0;
	spin_lock(&sleep_lock);
	do {
		r = wait_until(&sleep_queue, &sleep_lock, deadline);
	} while (r == 0);
	spin_unlock(&sleep_lock);
	return r == -ETIMEDOUT ? 0 : sleep_interrupted(deadline, arg[1]);
}

/* The time a clock shows, in ns; 0 or -EINVAL. */
static int
clock_read(int clock, uint64_t *ns)
{
	const struct proc *p = current->proc;

	switch (clock) {
	case CLOCK_REALTIME:
		*ns = time_realtime_ns();
		return 0;
	case CLOCK_MONOTONIC:
		*ns = counts_to_ns(rdtime());
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		*ns = (p->utime + p->stime) * (NS_PER_SEC / HZ);
		return 0;
	default:
		return -EINVAL;
	}
}

long
sys_clock_gettime(const unsigned long *arg)
{
	struct timespec ts;
	uint64_t ns;
	int r = clock_read(arg[0], &ns);

	if (r < 0)
		return r;
	ts = ns_to_timespec(ns);
	return copy_out(arg[1], &ts, sizeof ts);
}

long
sys_clock_getres(const unsigned long *arg)
{
	struct timespec ts;
	uint64_t ns;
	int clock = arg[0], r = clock_read(clock, &ns);

	if (r < 0)
		return r;
	ts = ns_to_timespec(clock == CLOCK_PROCESS_CPUTIME_ID
				? NS_PER_SEC / HZ
				: counts_to_ns(1));
	if (arg[1] == 0)
		return 0;
	return copy_out(arg[1], &ts, sizeof ts);
}

/* In ticks of 1/HZ s; gives the ticks since boot. */
long
sys_times(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct tms tms = {.tms_utime = p->utime, .tms_stime = p->stime};

	spin_lock(&proc_tree_lock);
	tms.tms_cutime = p->child_utime;
	tms.tms_cstime = p->child_stime;
	spin_unlock(&proc_tree_lock);
	if (arg[0] != 0 && copy_out(arg[0], &tms, sizeof tms) < 0)
		return -EFAULT;
	return rdtime() / (machine.timebase / HZ);
}

static struct timeval
counts_to_timeval(uint64_t counts)
{
	uint64_t us = (counts_to_ns(counts) + NS_PER_US - 1) / NS_PER_US;

	return (struct timeval){
	    .tv_sec = us / US_PER_SEC,
	    .tv_usec = us % US_PER_SEC,
	};
}

static bool
timeval_good(const struct timeval *tv)
{
	return tv->tv_sec >= 0 && (unsigned long)tv->tv_usec < US_PER_SEC;
}

static uint64_t
timeval_to_counts(const struct timeval *tv)
{
	return to_counts(tv->tv_sec, tv->tv_usec, US_PER_SEC);
}

static int
alarm_copy_out(struct proc *p, uintptr_t user)
{
	struct itimerval it;
	uint64_t now = rdtime(), left = 0;

	spin_lock(&callout_lock);
	if (p->alarm_deadline != 0) /* due, but not sent: as good as now */
		left = p->alarm_deadline > now ? p->alarm_deadline - now : 1;
	it.it_interval = counts_to_timeval(p->alarm_interval);
	spin_unlock(&callout_lock);
	it.it_value = counts_to_timeval(left);
	return copy_out(user, &it, sizeof it);
}

static void
alarm_set(struct proc *p, uint64_t delay, uint64_t interval)
{
	spin_lock(&callout_lock);
	list_remove(&p->alarm_link);
	p->alarm_interval = interval;
	alarm_add(p, delay != 0 ? rdtime() + delay : 0);
	find_soonest();
	spin_unlock(&callout_lock);
}

void
time_cancel_alarm(struct proc *p)
{
	alarm_set(p, 0, 0);
}

long
sys_setitimer(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct itimerval it;

	if (arg[0] != ITIMER_REAL)
		return -EINVAL;
	if (copy_in(&it, arg[1], sizeof it) < 0)
		return -EFAULT;
	if (!timeval_good(&it.it_value) || !timeval_good(&it.it_interval))
		return -EINVAL;
	if (arg[2] != 0 && alarm_copy_out(p, arg[2]) < 0)
		return -EFAULT;
	alarm_set(p, timeval_to_counts(&it.it_value),
		  timeval_to_counts(&it.it_interval));
	return 0;
}

long
sys_getitimer(const unsigned long *arg)
{
	if (arg[0] != ITIMER_REAL)
		return -EINVAL;
	return alarm_copy_out(current->proc, arg[1]);
}
