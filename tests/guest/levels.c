/*
 * While the level is raised, ticks are only noted: lowering it does their
 * work, and none is lost. /dev/ktest spins at a level for a known time.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>

#include "profiling.h"

#define TICK_US 10000

static const int levels[] = {0, 1, 5};

static void
spin(int level, unsigned int us)
{
	if (ctl(KTEST, "spin %d %u", level, us) != 0)
		printf("no spin: %s\n", strerror(errno));
}

static void
check_charged(void)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		struct tms before, after;
		/* With ticks that the host let pass samples are skipped. */
		int missed = -skipped_now();
		clock_t ticks;

		times(&before);
		spin(levels[i], 20 * TICK_US);
		times(&after);
		missed += skipped_now();
		ticks = after.tms_stime - before.tms_stime;
		CHECK(ticks >= 19 || (missed > 0 && ticks > 0),
		      "level %d: its ticks are the process's system time",
		      levels[i]);
	}
}

static volatile sig_atomic_t alarms;

static void
on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void
check_timers(void)
{
	struct itimerval soon = {.it_value.tv_usec = 3 * TICK_US};

	signal(SIGALRM, on_alarm);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		alarms = 0;
		setitimer(ITIMER_REAL, &soon, NULL);
		spin(levels[i], 10 * TICK_US);
		CHECK(alarms == 1, "level %d: a timer has run out when it ends",
		      levels[i]);
	}
}

/* With another waiting for the only hart, one who spins for longer than its
 * turn is off it before it gets back to user mode; at level 0 even before. */
static void
check_turns(void)
{
	pid_t rival = fork();

	while (rival == 0)
		;
	for (size_t i = 1; i < sizeof(levels) / sizeof(levels[0]); i++) {
		uint64_t start = now_us();

		spin(levels[i], 20 * TICK_US);
		CHECK(now_us() - start >= 22 * TICK_US,
		      "level %d: a turn that is over ends", levels[i]);
	}
	kill(rival, SIGKILL);
	waitpid(rival, NULL, 0);
}

int
main(void)
{
	check_charged();
	check_timers();
	if (system_now().harts == 1)
		check_turns();
	return check_done();
}
