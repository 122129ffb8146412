/*
 * prfdc: write a log of the profiler's counters, a record every few minutes
 * until some hour of the day, or a signal. The last record is of the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/prflog.h"

#define PERIOD     10  /* minutes */
#define PERIOD_MAX 1e6 /* minutes: two years */
#define OFF_HOUR   17
#define NEVER      24 /* as an off_hour */

#define SECOND 1000000 /* microseconds */
#define MINUTE (60 * SECOND)

static volatile sig_atomic_t asked; /* by a signal, to end */
static sigset_t waiting;            /* the signals blocked while waiting */

/* Microseconds since 1970. */
static uint64_t
clock_now(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (uint64_t)now.tv_sec * SECOND + now.tv_usec;
}

static void
caught(int sig)
{
	if (sig != SIGALRM)
		asked = 1;
}

/* From now on, signals come only while wait_until waits. What someone wanted
 * ignored, stays so. */
static void
signals_start(void)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
	struct sigaction act = {.sa_handler = caught}, old;
	sigset_t mine = sigmask(SIGALRM);

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		mine |= sigmask(ending[i]);
	sigprocmask(SIG_BLOCK, &mine, &waiting);
	waiting &= ~mine;
	sigaction(SIGALRM, &act, NULL);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		sigaction(ending[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(ending[i], &act, NULL);
	}
}

/* Until then, or until a signal asks to end. */
static void
wait_until(uint64_t when)
{
	uint64_t now;

	while (!asked && (now = clock_now()) < when) {
		struct itimerval timer = {
		    .it_value.tv_sec = (when - now) / SECOND,
		    .it_value.tv_usec = (when - now) % SECOND,
		};

		setitimer(ITIMER_REAL, &timer, NULL);
		sigsuspend(&waiting);
	}
}

/* When the clock strikes that hour next, in microseconds. */
static uint64_t
off_time(unsigned long hour)
{
	time_t now = time(NULL), when;
	struct tm tm;

	if (hour == NEVER)
		return UINT64_MAX;
	tm = *localtime(&now);
	for (int day = tm.tm_mday;; day++) {
		tm.tm_mday = day;
		tm.tm_hour = hour;
		tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1; /* let mktime find out */
		when = mktime(&tm);
		if (when > now)
			return (uint64_t)when * SECOND;
	}
}

/* Records, until it is off or a signal comes. */
static void
collect(int fd, const char *path, struct snapshot *s, uint64_t period,
	uint64_t off)
{
	uint64_t next = clock_now();

	snapshot_append(s, fd, path);
	do {
		/* In step with the first, whatever was missed. */
		next += (clock_now() - next) / period * period + period;
		wait_until(next < off ? next : off);
		snapshot_take(s);
		snapshot_append(s, fd, path);
	} while (!asked && clock_now() < off);
}

int
main(int argc, char **argv)
{
	double period = PERIOD;
	unsigned long hour = OFF_HOUR;
	struct snapshot first = {0};
	int fd;

	cmd_start(argc, argv, "prfdc", "[-f DEVICE] FILE [PERIOD [OFF_HOUR]]");
	prf_open(1, 3);
	if (cmd_argc > 1)
		period = cmd_decimal(cmd_argv[1], "a number of minutes");
	if (period * MINUTE < 1 || period > PERIOD_MAX)
		cmd_usage("not a period: %s", cmd_argv[1]);
	if (cmd_argc > 2)
		hour = cmd_number(cmd_argv[2], "an hour", 0, NEVER);
	snapshot_take(&first);
	signals_start();
	fd = open(cmd_argv[0], O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
	if (fd < 0)
		cmd_die("%s", cmd_argv[0]);
	prf_enable();
	collect(fd, cmd_argv[0], &first, period * MINUTE, off_time(hour));
	return cmd_done();
}
