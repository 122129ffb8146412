/*
 * Time: the clocks, processor time, sleeping, and alarms. What takes at least
 * so long is measured; how much longer it takes is up to the machine.
 */
#include <limits.h>
#include <sys/time.h>
#include <sys/times.h>

#include "catch.h"

#define NS_PER_TICK (10 * NS_PER_MS)
#define US_PER_MS   1000
#define YEAR_2026   1767225600L /* its first second, when machines here begin */

static int report[2]; /* a pipe, for what children measure */

static int
report_ns(long ns)
{
	return write(report[1], &ns, sizeof(ns)) == sizeof(ns) ? 0 : 1;
}

static long
reported_ns(void)
{
	long ns = LONG_MAX;

	read(report[0], &ns, sizeof(ns));
	return ns;
}

static long
read_ns(clockid_t clock)
{
	struct timespec t = {-1, -1};

	if (clock_gettime(clock, &t) < 0 || t.tv_nsec < 0 ||
	    t.tv_nsec >= NS_PER_S)
		return -1;
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* --- Clocks --- */

static void
test_clock_errors(void)
{
	struct timespec t;

	CHECK_ERRNO(clock_gettime(99, &t), EINVAL, "clock_gettime: no clock");
	CHECK_ERRNO(clock_gettime(-1, &t), EINVAL, "clock_gettime: clock -1");
	CHECK_ERRNO(clock_getres(99, &t), EINVAL, "clock_getres: no clock");
	CHECK_FAULTS_OUT("clock_gettime", clock_gettime(CLOCK_MONOTONIC, bad));
	CHECK_FAULTS(BAD_BUT_NULL, "clock_getres",
		     clock_getres(CLOCK_MONOTONIC, bad));
	CHECK(clock_getres(CLOCK_MONOTONIC, NULL) == 0,
	      "clock_getres: only asks if there is such a clock");
}

static void
test_clocks(void)
{
	long last = now_ns(), before, real, after;
	bool backwards = false;
	struct timespec t;

	for (int i = 0; i < 5000; i++) {
		long now = read_ns(CLOCK_MONOTONIC);

		backwards |= now < last;
		last = now;
		if (i % 50 == 0)
			sched_yield(); /* perhaps to another hart */
	}
	CHECK(!backwards, "CLOCK_MONOTONIC never goes back");
	CHECK(last > 0 && read_ns(CLOCK_REALTIME) / NS_PER_S >= YEAR_2026,
	      "clocks show a time");
	clock_getres(CLOCK_MONOTONIC, &t);
	CHECK(t.tv_sec == 0 &&
		  t.tv_nsec == NS_PER_S / (long)system_info().timebase,
	      "CLOCK_MONOTONIC counts as the hardware does");
	clock_getres(CLOCK_PROCESS_CPUTIME_ID, &t);
	CHECK(t.tv_sec == 0 && t.tv_nsec == NS_PER_TICK,
	      "CLOCK_PROCESS_CPUTIME_ID counts ticks");
	before = read_ns(CLOCK_REALTIME) - now_ns();
	AWAIT(now_ns() > last + 3 * NS_PER_TICK);
	last = now_ns();
	real = read_ns(CLOCK_REALTIME);
	after = now_ns();
	CHECK(real - before >= last - NS_PER_MS &&
		  real - before <= after + NS_PER_MS,
	      "CLOCK_REALTIME goes as fast");
}

static int
clock_in_child(void)
{
	return report_ns(now_ns());
}

/* Harts agree about the time: it passes along a chain of processes. */
static void
test_clock_everywhere(void)
{
	int good = 0;

	for (int i = 0; i < 50; i++) {
		long before = now_ns(), child;
		pid_t pid = child_start(clock_in_child);

		child = reported_ns();
		good += before <= child && child <= now_ns();
		child_wait(pid);
	}
	CHECK(good == 50, "CLOCK_MONOTONIC is one for all processes");
}

/* --- Processor time --- */

static void
test_times(void)
{
	long before = now_ns(), after;
	long ticks = times(NULL);

	after = now_ns();
	CHECK(ticks >= before / NS_PER_TICK && ticks <= after / NS_PER_TICK,
	      "times: ticks since boot, as CLOCK_MONOTONIC has it");
	CHECK_FAULTS(BAD_BUT_NULL, "times", times(bad));
}

static long
user_time(void)
{
	struct tms t;

	times(&t);
	return t.tms_utime;
}

static long
system_time(void)
{
	struct tms t;

	times(&t);
	return t.tms_stime;
}

/* The user's share grows: few calls, much computing. */
static bool
compute(long ticks)
{
	long end = user_time() + ticks;
	long stop = now_ns() + WAIT_MAX;

	while (user_time() < end && now_ns() < stop)
		for (volatile int i = 0; i < 10000; i++)
			;
	return user_time() >= end;
}

static void
test_cpu_time(void)
{
	long start = now_ns(), cpu;
	long user = user_time(), sys = system_time(), before;
	static char buf[256 * 1024];
	int fd = open("/dev/zero", O_RDONLY);

	CHECK(compute(5), "times: computing takes user time");
	CHECK(now_ns() - start >= 4 * NS_PER_TICK,
	      "times: no more than passed");
	CHECK(AWAIT(read(fd, buf, sizeof(buf)) > 0 && system_time() > sys + 2),
	      "times: calls take system time");
	before = user_time() + system_time();
	cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID) / NS_PER_TICK;
	CHECK(before <= cpu && cpu <= user_time() + system_time(),
	      "CLOCK_PROCESS_CPUTIME_ID is both");
	CHECK(user_time() >= user, "times: neither goes back");
	close(fd);
}

static int
compute_in_child(void)
{
	struct tms t;

	times(&t);
	if (t.tms_utime + t.tms_stime > 3 || t.tms_cutime + t.tms_cstime != 0)
		return 1;
	return compute(4) ? 0 : 2;
}

static void
test_children_time(void)
{
	struct tms before, zombie, after;
	pid_t pid;

	compute(6);
	times(&before);
	pid = child_start(compute_in_child);
	AWAIT(state_of(pid) == 'Z');
	times(&zombie);
	CHECK(zombie.tms_cutime == before.tms_cutime,
	      "times: a child's time is its own until it is waited for");
	CHECK(exited(pid, 0), "times: a child starts with none");
	times(&after);
	CHECK(after.tms_cutime >= before.tms_cutime + 4,
	      "times: then it is its parent's too");
}

/* Time of both kinds. */
static int
work_in_child(void)
{
	static char buf[256 * 1024];
	int fd = open("/dev/zero", O_RDONLY);

	return compute(4) && AWAIT(read(fd, buf, sizeof(buf)) > 0 &&
				   system_time() >= 4)
		   ? 0
		   : 1;
}

static int
work_in_grandchild(void)
{
	pid_t pid = child_start(work_in_child);

	return exited(pid, 0) ? 0 : 1;
}

/* What a child has waited for is its own time, for its parent. */
static void
test_grandchildren_time(void)
{
	struct tms before, after;

	times(&before);
	CHECK(child_run(work_in_grandchild) == 0, "times: a grandchild, too");
	times(&after);
	CHECK(after.tms_cutime >= before.tms_cutime + 4 &&
		  after.tms_cstime >= before.tms_cstime + 4,
	      "times: a child's children are its parent's");
}

/* --- Sleeping --- */

static void
test_sleep(void)
{
	static const long lengths[] = {1, NS_PER_MS, NS_PER_TICK,
				       25 * NS_PER_MS, 100 * NS_PER_MS};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct timespec t = {0, lengths[i]}, left = {5, 5};
		long start = now_ns(), slept;
		int result = nanosleep(&t, &left);

		slept = now_ns() - start;
		CHECK(result == 0 && slept >= lengths[i],
		      "nanosleep: at least %ld ns", lengths[i]);
		CHECK(slept < lengths[i] + 5 * NS_PER_S && left.tv_sec == 5,
		      "nanosleep: and then it is over");
	}
}

static void
test_sleep_errors(void)
{
	struct timespec t = {0, NS_PER_S};

	CHECK_ERRNO(nanosleep(&t, NULL), EINVAL, "nanosleep: 1e9 ns");
	t.tv_nsec = -1;
	CHECK_ERRNO(nanosleep(&t, NULL), EINVAL, "nanosleep: -1 ns");
	t = (struct timespec){-1, 0};
	CHECK_ERRNO(nanosleep(&t, NULL), EINVAL, "nanosleep: -1 s");
	t.tv_sec = 0;
	CHECK(nanosleep(&t, NULL) == 0, "nanosleep: 0 is no error");
	CHECK_FAULTS_IN("nanosleep", nanosleep(bad, NULL));
}

/* An alarm in so many ms, and then every so many. */
static int
set_alarm(long ms, long interval_ms)
{
	struct itimerval it = {
	    .it_value = {ms / 1000, ms % 1000 * US_PER_MS},
	    .it_interval = {interval_ms / 1000, interval_ms % 1000 * US_PER_MS},
	};

	return setitimer(ITIMER_REAL, &it, NULL);
}

static void
test_sleep_interrupted(void)
{
	struct timespec t = {100, 0}, left = {0};
	long start = now_ns(), slept, rest;

	catch_signal(SIGALRM, SA_RESTART, 0);
	set_alarm(30, 0);
	CHECK_ERRNO(nanosleep(&t, &left), EINTR, "nanosleep: EINTR");
	slept = now_ns() - start;
	rest = left.tv_sec * NS_PER_S + left.tv_nsec;
	CHECK(hits == 1 && slept >= 30 * NS_PER_MS, "nanosleep: by the alarm");
	CHECK(slept + rest >= 100 * NS_PER_S &&
		  rest <= 100 * NS_PER_S - 30 * NS_PER_MS + NS_PER_TICK,
	      "nanosleep: tells what is left");
	set_alarm(10, 0);
	CHECK_ERRNO(nanosleep(&t, NULL), EINTR, "nanosleep: to who asks");
	set_alarm(10, 0);
	CHECK_ERRNO(nanosleep(&t, (void *)gate_make), EFAULT,
		    "nanosleep: EFAULT where it can't");
	CHECK(sleep(0) == 0, "sleep: nothing left");
	set_alarm(10, 0);
	CHECK(sleep(50) == 50, "sleep: what is left, rounded up");
}

#define STOPPED_SLEEP (500 * NS_PER_MS)

static int
sleep_in_child(void)
{
	struct timespec t = {0, STOPPED_SLEEP};
	long start = now_ns(), slept;

	if (nanosleep(&t, NULL) < 0)
		return 1;
	slept = now_ns() - start;
	return slept >= STOPPED_SLEEP ? report_ns(slept) : 2;
}

/* A sleeper is stopped for a while: after that it doesn't sleep anew. */
static void
test_sleep_stopped(void)
{
	long stop;
	pid_t pid;

	pid = child_start(sleep_in_child);
	AWAIT(state_of(pid) == 'S');
	kill(pid, SIGSTOP);
	stopped(pid, SIGSTOP);
	stop = now_ns();
	AWAIT(now_ns() >= stop + STOPPED_SLEEP * 4 / 5);
	stop = now_ns() - stop;
	kill(pid, SIGCONT);
	CHECK(exited(pid, 0) && reported_ns() < stop + STOPPED_SLEEP,
	      "nanosleep: after a stop it goes on, to the time it had");
}

/* --- Alarms --- */

static void
test_setitimer_errors(void)
{
	static const struct itimerval bad_values[] = {
	    {.it_value = {0, 1000000}},
	    {.it_value = {0, -1}},
	    {.it_value = {-1, 0}},
	    {.it_value = {1, 0}, .it_interval = {0, 1000000}},
	    {.it_value = {1, 0}, .it_interval = {-1, 0}},
	};
	struct itimerval it = {.it_value = {50, 0}}, now;

	CHECK_ERRNO(setitimer(-1, &it, NULL), EINVAL, "setitimer: no timer");
	CHECK_ERRNO(setitimer(3, &it, NULL), EINVAL,
		    "setitimer: nor one past the last");
	CHECK_ERRNO(getitimer(3, &it), EINVAL, "getitimer: so too");
	set_alarm(100000, 0);
	for (int i = 0; i < 5; i++)
		CHECK_ERRNO(setitimer(ITIMER_REAL, &bad_values[i], NULL),
			    EINVAL, "setitimer: a time that is none, %d", i);
	CHECK_FAULTS_IN("setitimer", setitimer(ITIMER_REAL, bad, NULL));
	CHECK_FAULTS(BAD_BUT_NULL, "setitimer: old",
		     setitimer(ITIMER_REAL, &it, bad));
	CHECK_FAULTS_OUT("getitimer", getitimer(ITIMER_REAL, bad));
	getitimer(ITIMER_REAL, &now);
	CHECK(now.it_value.tv_sec >= 90 && now.it_value.tv_sec < 100,
	      "setitimer: errors change nothing");
	set_alarm(0, 0);
}

static void
test_alarm_once(void)
{
	struct itimerval it;
	long start = now_ns();

	catch_signal(SIGALRM, 0, 0);
	set_alarm(25, 0);
	getitimer(ITIMER_REAL, &it);
	CHECK(it.it_value.tv_sec == 0 && it.it_value.tv_usec <= 25000 &&
		  it.it_interval.tv_sec == 0 && it.it_interval.tv_usec == 0,
	      "getitimer: what is left");
	CHECK(AWAIT(hits > 0) && last_sig == SIGALRM, "an alarm is SIGALRM");
	CHECK(now_ns() - start >= 25 * NS_PER_MS, "and not early");
	getitimer(ITIMER_REAL, &it);
	CHECK(it.it_value.tv_sec == 0 && it.it_value.tv_usec == 0,
	      "getitimer: 0 when it is over");
	usleep(50 * US_PER_MS);
	CHECK(hits == 1, "it comes once");
}

static void
test_alarm_interval(void)
{
	struct itimerval off = {0}, old;
	long start = now_ns();
	int seen;

	catch_signal(SIGALRM, SA_RESTART, 0);
	set_alarm(10, 20);
	CHECK(AWAIT(hits >= 5), "with an interval it comes again");
	CHECK(now_ns() - start >= 90 * NS_PER_MS, "each time not early");
	setitimer(ITIMER_REAL, &off, &old);
	CHECK(old.it_interval.tv_sec == 0 && old.it_interval.tv_usec == 20000,
	      "setitimer: the old one's interval");
	CHECK(old.it_value.tv_sec == 0 && old.it_value.tv_usec <= 20000 &&
		  old.it_value.tv_usec > 0,
	      "setitimer: what it had left");
	seen = hits;
	usleep(60 * US_PER_MS);
	CHECK(hits == seen, "setitimer: 0 turns it off");
}

/*
 * An alarm is late by a tick at most, here where time is of instructions. It
 * isn't counted from there, or of ticks of 10 ms one of 25 would take 30.
 */
static void
test_alarm_phase(void)
{
	long interval = 25 * NS_PER_MS, start, late;

	catch_signal(SIGALRM, SA_RESTART, 0);
	start = now_ns();
	set_alarm(25, 25);
	AWAIT(hits >= 40);
	late = now_ns() - start - 40 * interval;
	set_alarm(0, 0);
	CHECK(late >= 0 && late < 2 * NS_PER_TICK,
	      "with an interval it keeps its time (%ld ns)", late);
}

static int
no_alarm(void)
{
	return alarm(0) == 0 ? 0 : 1;
}

static int
die_of_alarm(void)
{
	signal(SIGALRM, SIG_DFL);
	set_alarm(1, 0);
	for (;;)
		pause();
	return 0;
}

static void
test_alarm(void)
{
	struct itimerval it = {.it_value = {LONG_MAX, 999999}};

	CHECK(alarm(100) == 0, "alarm: there was none");
	CHECK(child_run(no_alarm) == 0, "alarm: isn't inherited");
	CHECK(alarm(200) == 100, "alarm: what was left, rounded up");
	CHECK(alarm(0) == 200 && alarm(0) == 0, "alarm: 0 takes it back");
	CHECK(killed(child_start(die_of_alarm), SIGALRM),
	      "alarm: by default it kills");
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0 &&
		  getitimer(ITIMER_REAL, &it) == 0 &&
		  it.it_value.tv_sec > 1000000,
	      "setitimer: for ever is a time");
	alarm(0);
}

int
main(void)
{
	pipe(report);
	test_clock_errors();
	test_clocks();
	test_clock_everywhere();
	test_times();
	test_cpu_time();
	test_children_time();
	test_grandchildren_time();
	test_sleep();
	test_sleep_errors();
	test_sleep_interrupted();
	test_sleep_stopped();
	test_setitimer_errors();
	test_alarm_once();
	test_alarm_interval();
	test_alarm_phase();
	test_alarm();
	return check_done();
}
