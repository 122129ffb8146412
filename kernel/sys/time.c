/*
 * The system calls about time: what time it is, sleeping, alarms.
 */
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "../clock.h"
#include "../dev/dev.h"
#include "../machine.h"
#include "../proc/proc.h"
#include "../syscall.h"

#define NS_PER_SEC 1000000000UL
#define US_PER_SEC 1000000UL
#define NS_PER_US  1000UL

static uint64_t boot_ns; /* of 1970, when rdtime() was 0 */

static uint64_t
counts_to_ns(uint64_t counts)
{
	uint64_t sec = counts / machine.timebase;
	uint64_t rest = counts % machine.timebase;

	return sec * NS_PER_SEC + rest * NS_PER_SEC / machine.timebase;
}

/* Without a clock that knows better, it is 1970 at boot. */
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

/* Rounded up, and no more than a deadline's sum can take. */
int
time_counts(long sec, unsigned long units, unsigned long per_sec,
	    uint64_t *counts)
{
	if (sec < 0 || units >= per_sec)
		return -EINVAL;
	if ((uint64_t)sec >= INT64_MAX / machine.timebase)
		*counts = INT64_MAX;
	else
		*counts = sec * machine.timebase +
			  (units * machine.timebase + per_sec - 1) / per_sec;
	return 0;
}

int
time_copy_in(uintptr_t user, uint64_t *counts)
{
	struct timespec ts;

	if (copy_in(&ts, user, sizeof ts) < 0)
		return -EFAULT;
	return time_counts(ts.tv_sec, ts.tv_nsec, NS_PER_SEC, counts);
}

static int
copy_out_ns(uintptr_t user, uint64_t ns)
{
	struct timespec ts = time_of_ns(ns);

	return copy_out(user, &ts, sizeof ts);
}

int
time_sleep(uint64_t deadline)
{
	struct proc *p = current->proc;
	struct waitq nothing = WAITQ_INIT(nothing); /* wakes who waits here */
	int r = 0;

	spin_lock(&p->sleep_lock);
	while (r == 0)
		r = wait_until(&nothing, &p->sleep_lock, deadline);
	spin_unlock(&p->sleep_lock);
	return r;
}

/*
 * A signal without a handler (stop, continue) doesn't end a sleep: the call
 * is restarted, and goes on to the deadline it had.
 */
static long
sleep_interrupted(uint64_t deadline, uintptr_t user_left)
{
	uint64_t now = rdtime();
	uint64_t left = deadline > now ? deadline - now : 0;

	if (user_left != 0 && copy_out_ns(user_left, counts_to_ns(left)) < 0)
		return -EFAULT;
	current->sleep_until = deadline;
	return -ERESTART;
}

long
sys_nanosleep(const unsigned long *arg)
{
	uint64_t deadline = current->sleep_until, counts;
	int r = time_copy_in(arg[0], &counts);

	current->sleep_until = 0;
	if (r < 0)
		return r;
	if (deadline == 0)
		deadline = rdtime() + counts;
	r = time_sleep(deadline);
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
	uint64_t ns;
	int r = clock_read(arg[0], &ns);

	return r < 0 ? r : copy_out_ns(arg[1], ns);
}

long
sys_clock_getres(const unsigned long *arg)
{
	uint64_t ns;
	int clock = arg[0], r = clock_read(clock, &ns);

	if (r < 0 || arg[1] == 0)
		return r;
	if (clock == CLOCK_PROCESS_CPUTIME_ID)
		return copy_out_ns(arg[1], NS_PER_SEC / HZ);
	return copy_out_ns(arg[1], counts_to_ns(1));
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
	return copy_out(user, &it, sizeof it);
}

long
sys_setitimer(const unsigned long *arg)
{
	struct proc *p = current->proc;
	uint64_t delay, interval;
	struct itimerval it;
	int r;

	if (arg[0] != ITIMER_REAL)
		return -EINVAL;
	if (copy_in(&it, arg[1], sizeof it) < 0)
		return -EFAULT;
	r = time_counts(it.it_value.tv_sec, it.it_value.tv_usec, US_PER_SEC,
			&delay);
	if (r == 0)
		r = time_counts(it.it_interval.tv_sec, it.it_interval.tv_usec,
				US_PER_SEC, &interval);
	if (r == 0 && arg[2] != 0)
		r = alarm_copy_out(p, arg[2]);
	if (r == 0)
		timer_set(&p->alarm,
			  delay != 0 ? rdtime() + delay : WAIT_FOREVER,
			  interval);
	return r;
}

long
sys_getitimer(const unsigned long *arg)
{
	if (arg[0] != ITIMER_REAL)
		return -EINVAL;
	return alarm_copy_out(current->proc, arg[1]);
}
