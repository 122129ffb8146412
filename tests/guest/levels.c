/*
 * While the level is raised, ticks are only noted: lowering it does their
 * work, and none is lost. /dev/ktest spins at a level for a known time.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>

#include "moments.h"

#define RATE    4001
#define PERIOD  (US(1000000) / RATE)
#define PHASES  25
#define STEP    3
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

/* One who spins at level 0 gives the rival its turns meanwhile. */
static void
check_turns_below(pid_t rival)
{
	uint64_t before = info_of(rival).utime, had;

	spin(0, 20 * TICK_US);
	had = info_of(rival).utime - before;
	CHECK(had >= 5, "level 0: another has its turns, %d ticks", (int)had);
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
	check_turns_below(rival);
	child_end(rival);
}

/* How far the ticks that were counted are behind the clock, a while after one
 * of them; from boot on by the same. */
static uint64_t
ticks_behind(uint64_t tick)
{
	spin_till(tick + TICK / 4);
	return rdtime() / TICK - system_now().ticks[0];
}

/*
 * The level goes down, a tick that came before is counted, and then another
 * one comes: nothing else will look for it before the program goes on. Each
 * distance of a tick from the call is tried.
 */
static void
check_tick_at_end(void)
{
	static const char word[] = "spin 5 15000";
	int fd = open(KTEST, O_WRONLY), wrong = 0;
	uint64_t behind = ticks_behind(nth_tick(1));

	for (unsigned int more = US(30); more < US(110); more += US(1)) {
		uint64_t tick = nth_tick(3);

		spin_till(tick - US(15000) - more);
		write(fd, word, strlen(word));
		wrong += ticks_behind(tick) != behind;
	}
	close(fd);
	CHECK(wrong == 0, "no tick waits when a level has ended: %d do", wrong);
}

/* The longest that one of a hundred ticks took to wake this process up. */
static uint64_t
worst_of_ticks(void)
{
	uint64_t worst = 0;

	for (int i = 0; i < 100; i++) {
		uint64_t tick = nth_tick(1), late;
		struct timespec nap = {
		    .tv_nsec = (tick - US(200) - rdtime()) * 1000 / US(1),
		};

		nanosleep(&nap, NULL);
		late = rdtime() - tick;
		worst = late > worst ? late : worst;
	}
	return worst;
}

/*
 * All harts follow a new rate from their next tick on. Its strokes begin at a
 * multiple of its period in whole counts (sampleclock_apply): wait for the one
 * from which on they lie so to the ticks.
 */
static void
strike(uint64_t phase)
{
	struct timespec nap = {.tv_nsec = 30 * NS_PER_MS};
	uint64_t past, begin;

	do {
		begin = rdtime();
		past = begin % PERIOD;
		begin -= past;
	} while (past > PERIOD / 4 ||
		 begin * RATE % TICK / RATE / STEP != phase);
	ctl(PROFCLOCK, "hz %u", RATE);
	nanosleep(&nap, NULL);
}

/*
 * A tick that comes when the hart, which had nothing to do, still is at the
 * clock's last stroke is seen to before it waits for the next. In a second the
 * distances between the two are all multiples of PHASES counts, as RATE is one
 * more than a multiple of 100; each round begins STEP counts later, which is
 * some five instructions.
 */
static void
check_tick_in_handler(void)
{
	uint64_t worst = 0;

	for (uint64_t phase = 0; phase < PHASES / STEP; phase++) {
		uint64_t now;

		strike(phase);
		now = worst_of_ticks();
		worst = now > worst ? now : worst;
	}
	ctl(PROFCLOCK, "hz 100");
	CHECK(worst < PERIOD, "a tick that interrupts a handler follows it: %d",
	      (int)worst);
}

int
main(void)
{
	check_charged();
	check_timers();
	if (system_now().harts == 1) {
		check_turns();
		check_tick_at_end();
		check_tick_in_handler();
	}
	return check_done();
}
