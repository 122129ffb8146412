/*
 * The system calls about time: what time it is, sleeping, alarms. The kernel
 * counts in timer counts (rdtime()), of which a second has machine.timebase.
 * sched/time.h converts them.
 */
#include <errno.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "base/riscv.h"
#include "machine/machine.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "proc/sleep.h"
#include "sched/clock.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"
#include "sched/timer.h"

#define US_PER_SEC 1000000UL
#define NS_PER_US  1000UL

/* Copy ns to user memory as a struct timespec. */
static int
copy_out_ns(uintptr_t user, uint64_t ns)
{
	struct timespec ts = time_of_ns(ns);

	return copy_out(user, &ts, sizeof(ts));
}

/*
 * A signal has interrupted a nanosleep. If it has a handler, the call will fail
 * with EINTR, and the caller finds in *user_left how much time was left. If it
 * has none (stop, continue), the call is made again, from the start. The thread
 * remembers the deadline meanwhile, as otherwise the sleep would begin anew.
 * interrupt_call (proc/signal.c) forgets it if a handler runs.
 */
static long
sleep_interrupted(uint64_t deadline, uintptr_t user_left)
{
	uint64_t now = rdtime();
	uint64_t left = deadline > now ? deadline - now : 0;

	if (user_left != 0 && copy_out_ns(user_left, time_of_counts(left)) < 0)
		return -EFAULT;
	current->sleep_until = deadline;
	return -ERESTART;
}

/* If sleep_until isn't 0, this call is one that is made again: it keeps its
 * deadline. */
static long
sleep_for(uintptr_t user, uintptr_t user_left)
{
	uint64_t deadline = current->sleep_until, counts;
	int r = sleep_copy_in(user, &counts);

	current->sleep_until = 0;
	if (r < 0)
		return r;
	if (deadline == 0)
		deadline = rdtime() + counts;
	r = sleep_until(deadline);
	return r == -ETIMEDOUT ? 0 : sleep_interrupted(deadline, user_left);
}

/* nanosleep(time, left) */
long
sys_nanosleep(const unsigned long *arg)
{
	return sleep_for(arg[0], arg[1]);
}

/* clock_nanosleep(clock, flags, time, left): with TIMER_ABSTIME until the clock
 * shows the time. Not by clocks of CPU time, as Linux can: EINVAL. */
long
sys_clock_nanosleep(const unsigned long *arg)
{
	int clock = arg[0], r;
	uint64_t deadline;

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC &&
	    clock != CLOCK_BOOTTIME)
		return -EINVAL;
	if (!(arg[1] & TIMER_ABSTIME))
		return sleep_for(arg[2], arg[3]);
	r = sleep_copy_in(arg[2], &deadline);
	if (r < 0)
		return r;
	if (clock == CLOCK_REALTIME)
		deadline = time_since_1970(deadline);
	r = sleep_until(deadline);
	return r == -ETIMEDOUT ? 0 : sleep_interrupted(deadline, 0);
}

/* Read a clock, in ns. Returns 0, or -EINVAL if there is no such clock. The
 * CPU time of a process is counted in ticks, so it has no finer resolution. */
static int
clock_read(int clock, uint64_t *ns)
{
	const struct proc *p = current->proc;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = time_realtime_ns();
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME: /* the machine never sleeps */
		*ns = time_of_counts(rdtime());
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		*ns = (p->task.utime + p->task.stime) * (NS_PER_SEC / HZ);
		return 0;
	default:
		return -EINVAL;
	}
}

long
sys_clock_gettime(const unsigned long *arg)
{
	uint64_t ns;
	int r = clock_read(arg[0], &ns);

	return r < 0 ? r : copy_out_ns(arg[1], ns);
}

/* With address 0, this only tells whether there is such a clock. */
long
sys_clock_getres(const unsigned long *arg)
{
	uint64_t ns;
	int clock = arg[0], r = clock_read(clock, &ns);

	if (r < 0 || arg[1] == 0)
		return r;
	if (clock == CLOCK_PROCESS_CPUTIME_ID)
		return copy_out_ns(arg[1], NS_PER_SEC / HZ);
	return copy_out_ns(arg[1], time_of_counts(1));
}

/* All times are in ticks of 1/HZ s. Returns the ticks since boot. */
long
sys_times(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct tms tms = {.tms_utime = p->task.utime,
			  .tms_stime = p->task.stime};

	spin_lock(&proc_tree_lock);
	tms.tms_cutime = p->child_utime;
	tms.tms_cstime = p->child_stime;
	spin_unlock(&proc_tree_lock);
	if (arg[0] != 0 && copy_out(arg[0], &tms, sizeof(tms)) < 0)
		return -EFAULT;
	return rdtime() / (machine.timebase / HZ);
}

/* Rounded up: for an alarm that is set, 0 would mean that it isn't. */
static struct timeval
counts_to_timeval(uint64_t counts)
{
	uint64_t us = (time_of_counts(counts) + NS_PER_US - 1) / NS_PER_US;

	return (struct timeval){
	    .tv_sec = us / US_PER_SEC,
	    .tv_usec = us % US_PER_SEC,
	};
}

/* Copy the time until p's alarm, and its interval, to a struct itimerval in
 * user memory. A value of 0 says that no alarm is set. */
static int
alarm_copy_out(const struct proc *p, uintptr_t user)
{
	uint64_t deadline = p->alarm.deadline; /* needs no lock */
	uint64_t now = rdtime(), left = 0;
	struct itimerval it;

	if (deadline != WAIT_FOREVER) /* due, but not sent: as good as now */
		left = deadline > now ? deadline - now : 1;
	it.it_interval = counts_to_timeval(p->alarm.interval);
	it.it_value = counts_to_timeval(left);
	return copy_out(user, &it, sizeof(it));
}

/* setitimer's numbers for the timers that count processor time; -1: another. */
static int
cputimer_of(int which)
{
	if (which == ITIMER_VIRTUAL)
		return CPUTIMER_VIRTUAL;
	return which == ITIMER_PROF ? CPUTIMER_PROF : -1;
}

/* To ticks, and back; rounded up, as a time that is set isn't 0. */
static clock_t
counts_to_ticks(uint64_t counts)
{
	uint64_t tick = machine.timebase / HZ;

	return counts / tick + (counts % tick != 0);
}

static struct timeval
ticks_to_timeval(clock_t ticks)
{
	return (struct timeval){
	    .tv_sec = ticks / HZ,
	    .tv_usec = ticks % HZ * (US_PER_SEC / HZ),
	};
}

static int
cputimer_copy_out(struct cputimer t, uintptr_t user)
{
	struct itimerval it = {
	    .it_interval = ticks_to_timeval(t.interval),
	    .it_value = ticks_to_timeval(t.left),
	};

	return copy_out(user, &it, sizeof(it));
}

/* setitimer(which, new, old). The old value is copied out before the new one is
 * set: if that fails, nothing has changed. */
long
sys_setitimer(const unsigned long *arg)
{
	struct proc *p = current->proc;
	int r, kind = cputimer_of(arg[0]);
	uint64_t delay, interval;
	struct itimerval it;

	if (arg[0] != ITIMER_REAL && kind < 0)
		return -EINVAL;
	if (copy_in(&it, arg[1], sizeof(it)) < 0)
		return -EFAULT;
	r = time_counts(it.it_value.tv_sec, it.it_value.tv_usec, US_PER_SEC,
			&delay);
	if (r == 0)
		r = time_counts(it.it_interval.tv_sec, it.it_interval.tv_usec,
				US_PER_SEC, &interval);
	if (r == 0 && arg[2] != 0)
		r = kind < 0 ? alarm_copy_out(p, arg[2])
			     : cputimer_copy_out(cputimer_get(kind), arg[2]);
	if (r < 0)
		return r;
	if (kind < 0)
		timer_set(&p->alarm,
			  delay != 0 ? rdtime() + delay : WAIT_FOREVER,
			  interval);
	else
		cputimer_set(kind, (struct cputimer){
				       .left = counts_to_ticks(delay),
				       .interval = counts_to_ticks(interval),
				   });
	return 0;
}

/* getitimer(which, value) */
long
sys_getitimer(const unsigned long *arg)
{
	int kind = cputimer_of(arg[0]);

	if (kind >= 0)
		return cputimer_copy_out(cputimer_get(kind), arg[1]);
	if (arg[0] != ITIMER_REAL)
		return -EINVAL;
	return alarm_copy_out(current->proc, arg[1]);
}
