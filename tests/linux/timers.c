/*
 * Timers of Linux: timer_create, setitimer's three, and sleeping until a time.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "promise.h"

#define RT (SIGRTMIN + 2)

static const char *
yes(int is)
{
	return is ? "yes" : "no";
}

static const char *
result(long r)
{
	return r == -1 ? strerrorname_np(errno) : "0";
}

static volatile int hits, sum;

static void
count(int sig)
{
	(void)sig;
	hits++;
}

static void
told(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (hits++ == 0)
		printf("%d: code %d value %d\n", sig, info->si_code,
		       info->si_value.sival_int);
	sum += 1 + info->si_overrun;
}

static struct itimerspec
spec(long ns, long interval)
{
	return (struct itimerspec){{0, interval}, {0, ns}};
}

static long
now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
errors(timer_t t)
{
	struct itimerspec good = spec(1, 0), bad = spec(1000000000, 0);
	struct sigevent e = {.sigev_signo = 0};

	printf("no clock: %s\n", result(timer_create(99, NULL, &t)));
	printf("no signal: %s\n",
	       result(timer_create(CLOCK_MONOTONIC, &e, &t)));
	e = (struct sigevent){.sigev_signo = RT, .sigev_notify = 77};
	printf("no way: %s\n", result(timer_create(CLOCK_MONOTONIC, &e, &t)));
	printf("no timer: %s\n", result(syscall(SYS_timer_delete, 1234)));
	printf("nor there: %s\n",
	       result(syscall(SYS_timer_settime, -1, 0, &good, NULL)));
	printf("bad time: %s\n", result(timer_settime(t, 0, &bad, NULL)));
	printf("no time: %s\n",
	       result(syscall(SYS_timer_settime, (int)(long)t, 0, NULL, NULL)));
}

static void
once(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = RT};
	struct sigaction act = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
	struct itimerspec it = spec(20000000, 0), left;
	timer_t t;

	sigaction(RT, &act, NULL);
	e.sigev_value.sival_int = 4711;
	printf("create: %s\n", result(timer_create(CLOCK_MONOTONIC, &e, &t)));
	errors(t);
	timer_gettime(t, &left);
	printf("not set: %ld\n", left.it_value.tv_nsec);
	it.it_value.tv_sec = 100;
	timer_settime(t, 0, &it, NULL);
	it.it_value.tv_sec = 0;
	printf("set: %s", result(timer_settime(t, 0, &it, &left)));
	printf(", before %ld\n", left.it_value.tv_sec);
	while (hits == 0)
		usleep(1000);
	timer_gettime(t, &left);
	printf("over: %ld %ld, overrun %d\n", left.it_value.tv_sec,
	       left.it_value.tv_nsec, timer_getoverrun(t));
	printf("delete: %s\n", result(timer_delete(t)));
	printf("again: %s\n", result(timer_delete(t)));
}

/* Blocked for a while, it is due many times and comes once. */
static void
missed(void)
{
	struct itimerspec it = spec(10000000, 10000000);
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = RT};
	sigset_t set;
	timer_t t;

	sigemptyset(&set);
	sigaddset(&set, RT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &it, NULL);
	usleep(200000);
	hits = 1;
	sum = 0;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	it = spec(0, 0);
	timer_settime(t, 0, &it, NULL);
	printf("missed: %s\n", yes(hits < 4 && sum > 12 && sum < 200));
	timer_delete(t);
}

static void
others(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_NONE};
	struct itimerspec it = spec(0, 0), left;
	timer_t t, alarms;

	printf("none: %s\n", result(timer_create(CLOCK_REALTIME, &e, &t)));
	it.it_value.tv_sec = now_ms(CLOCK_REALTIME) / 1000 + 50;
	timer_settime(t, TIMER_ABSTIME, &it, NULL);
	timer_gettime(t, &left);
	printf("absolute: %s\n",
	       yes(left.it_value.tv_sec >= 48 && left.it_value.tv_sec <= 50));
	e.sigev_notify = SIGEV_THREAD_ID;
	e.sigev_signo = SIGUSR1;
	e._sigev_un._tid = getpid();
	signal(SIGUSR1, count);
	signal(SIGALRM, count);
	hits = 0;
	printf("thread: %s\n", result(timer_create(CLOCK_MONOTONIC, &e, &t)));
	it = spec(1000000, 0);
	timer_settime(t, 0, &it, NULL);
	while (hits < 1)
		usleep(1000);
	e._sigev_un._tid = 1;
	printf("another's: %s\n",
	       result(timer_create(CLOCK_MONOTONIC, &e, &alarms)));
	printf("alarm: %s\n",
	       result(timer_create(CLOCK_MONOTONIC, NULL, &alarms)));
	timer_settime(alarms, 0, &it, NULL);
	while (hits < 2)
		usleep(1000);
	/* A child has none of its parent's. */
	if (fork() == 0) {
		printf("child's: %s\n", result(timer_gettime(t, &left)));
		_exit(0);
	}
	wait(NULL);
}

static void
processor(int which, int sig)
{
	struct itimerval it = {{0, 10000}, {0, 10000}}, old;

	signal(sig, count);
	hits = 0;
	printf("itimer %d: %s\n", which, result(setitimer(which, &it, NULL)));
	while (hits < 3)
		;
	it = (struct itimerval){0};
	setitimer(which, &it, &old);
	printf("three times, interval %ld\n", (long)old.it_interval.tv_usec);
	getitimer(which, &old);
	printf("off: %ld\n", (long)old.it_value.tv_usec);
}

static void
sleeping(void)
{
	struct timespec t;
	long begin = now_ms(CLOCK_MONOTONIC);

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += 1;
	printf("until: %d\n",
	       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
	printf("a second: %s\n", yes(now_ms(CLOCK_MONOTONIC) >= begin + 1000));
	t.tv_sec = 0;
	printf("past: %d\n",
	       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
	clock_gettime(CLOCK_REALTIME, &t);
	printf("now: %d\n",
	       clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL));
	t = (struct timespec){0, 2000000};
	printf("for: %d\n", clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL));
	t.tv_nsec = -1;
	printf("bad: %d\n", clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL));
	printf("no clock: %d\n", clock_nanosleep(77, 0, &t, NULL));
}

/* The longest time that can be said is cut to the longest that can be told. */
static void
longest(void)
{
	struct itimerval it = {.it_value.tv_sec = LONG_MAX,
			       .it_interval.tv_sec = LONG_MAX};

	setitimer(ITIMER_REAL, &it, NULL);
	getitimer(ITIMER_REAL, &it);
	printf("longest: %d, interval %ld s\n",
	       it.it_value.tv_sec > 9000000000 &&
		   it.it_value.tv_sec <= 9223372036,
	       it.it_interval.tv_sec);
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	PROMISE("timer_create(2): a timer that strikes once");
	once();
	PROMISE("timer_getoverrun(2): how often it was missed");
	missed();
	PROMISE("timer_create(2): a moment, a thread, and each error");
	others();
	PROMISE("getitimer(2): ITIMER_VIRTUAL");
	processor(ITIMER_VIRTUAL, SIGVTALRM);
	PROMISE("getitimer(2): ITIMER_PROF");
	processor(ITIMER_PROF, SIGPROF);
	PROMISE("getitimer(2): ITIMER_REAL");
	processor(ITIMER_REAL, SIGALRM);
	PROMISE("getitimer(2): the longest time");
	longest();
	PROMISE("clock_nanosleep(2): until a moment");
	sleeping();
	return 0;
}
