/*
 * setitimer's timers of processor time: in what they count, and when they send
 * their signals.
 */
#include <sys/time.h>
#include <sys/times.h>

#include "catch.h"

#define TICK_US 10000

static volatile int ticks[2]; /* SIGVTALRM's, SIGPROF's */

static void
count(int sig)
{
	ticks[sig == SIGPROF]++;
}

static void
set(int which, long value, long interval)
{
	const struct itimerval it = {{0, interval}, {0, value}};

	setitimer(which, &it, NULL);
}

static clock_t
user_time(void)
{
	struct tms t;

	times(&t);
	return t.tms_utime;
}

/* Work in user mode for so many ticks. */
static void
work(clock_t n)
{
	clock_t end = user_time() + n;

	while (user_time() < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void
test_values(void)
{
	struct itimerval it = {{0, 25000}, {3, 1}}, old;

	CHECK(setitimer(ITIMER_PROF, &it, NULL) == 0 &&
		  getitimer(ITIMER_PROF, &it) == 0 && it.it_value.tv_sec == 3 &&
		  it.it_value.tv_usec <= TICK_US &&
		  it.it_interval.tv_sec == 0 &&
		  it.it_interval.tv_usec == 3 * TICK_US,
	      "a time is rounded up to ticks");
	it = (struct itimerval){0};
	CHECK(setitimer(ITIMER_PROF, &it, &old) == 0 &&
		  old.it_interval.tv_usec == 3 * TICK_US &&
		  getitimer(ITIMER_PROF, &it) == 0 && it.it_value.tv_sec == 0 &&
		  it.it_value.tv_usec == 0,
	      "0 turns it off");
	CHECK_FAULTS(BAD_BUT_NULL, "setitimer: old",
		     setitimer(ITIMER_VIRTUAL, &it, bad));
	CHECK_FAULTS_OUT("getitimer", getitimer(ITIMER_VIRTUAL, bad));
}

static void
test_counts(void)
{
	signal(SIGVTALRM, count);
	signal(SIGPROF, count);
	set(ITIMER_VIRTUAL, 3 * TICK_US, 0);
	work(2);
	CHECK(ticks[0] == 0, "ITIMER_VIRTUAL: not before its time");
	work(3);
	CHECK(ticks[0] == 1 && ticks[1] == 0, "ITIMER_VIRTUAL: once");
	set(ITIMER_PROF, TICK_US, TICK_US);
	work(10);
	set(ITIMER_PROF, 0, 0);
	CHECK(ticks[1] >= 8 && ticks[0] == 1,
	      "ITIMER_PROF: again and again: %d", ticks[1]);
	ticks[1] = 0;
	set(ITIMER_PROF, TICK_US, TICK_US);
	usleep(8 * TICK_US);
	set(ITIMER_PROF, 0, 0);
	CHECK(ticks[1] <= 2, "a sleeper uses no time: %d", ticks[1]);
}

static int
child_has_none(void)
{
	struct itimerval it;

	getitimer(ITIMER_PROF, &it);
	return it.it_value.tv_sec != 0;
}

static void
test_fork(void)
{
	struct itimerval it = {{0, 0}, {100, 0}};

	setitimer(ITIMER_PROF, &it, NULL);
	CHECK(child_run(child_has_none) == 0, "fork: the child has none");
	set(ITIMER_PROF, 0, 0);
}

int
main(void)
{
	alarm(DEADLINE);
	test_values();
	test_counts();
	test_fork();
	return check_done();
}
