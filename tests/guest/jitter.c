/*
 * When are samples taken? A program that watches the time sees each interrupt
 * as a gap, on the only hart of a machine under icount.
 */
#include "profiling.h"

#define TIMEBASE 10000000 /* a second */
#define HZ       500
#define PERIOD   (TIMEBASE / HZ)
#define TICK     (TIMEBASE / 100)
#define GAP      40 /* more than between two looks */
#define NEAR     20 /* how exact they are */
#define SAMPLES  120

/* Wait for the next interrupt; the time just before it. *tick: the
 * scheduler's tick was in it. */
static uint64_t
next_interrupt(bool *tick)
{
	uint64_t before, after = rdtime();

	do {
		before = after;
		after = rdtime();
	} while (after - before < GAP);
	*tick = (before - NEAR) / TICK != after / TICK;
	return before;
}

/*
 * Set the seed just after a tick; then the times of the samples, counted from
 * there, where they begin. One that falls into a tick can't be seen.
 */
static void
watch(unsigned int seed, int64_t *times)
{
	uint64_t start, t;
	bool tick;

	do
		next_interrupt(&tick);
	while (!tick);
	ctl(PROFCLOCK, "seed %u", seed);
	start = rdtime();
	for (size_t n = 0; n < SAMPLES;) {
		t = next_interrupt(&tick);
		if (!tick)
			times[n++] = t - start;
	}
}

/* Are all intervals this long, give or take? Two, where one isn't seen. */
static bool
all_within(const int64_t *times, int64_t least, int64_t most)
{
	for (size_t i = 1; i < SAMPLES; i++) {
		int64_t d = times[i] - times[i - 1];

		if ((d < least || d > most) && (d < 2 * least || d > 2 * most))
			return false;
	}
	return true;
}

/* How many intervals lie between these? */
static size_t
between(const int64_t *times, int64_t least, int64_t most)
{
	size_t n = 0;

	for (size_t i = 1; i < SAMPLES; i++) {
		int64_t d = times[i] - times[i - 1];

		n += least <= d && d < most;
	}
	return n;
}

static bool
same(const int64_t *a, const int64_t *b)
{
	for (size_t i = 0; i < SAMPLES; i++)
		if (llabs(a[i] - b[i]) > NEAR)
			return false;
	return true;
}

int
main(void)
{
	static int64_t times[SAMPLES], again[SAMPLES], others[SAMPLES];

	ctl(PROFCLOCK, "hz %d", HZ);
	watch(7, times);
	CHECK(all_within(times, PERIOD - NEAR, PERIOD + NEAR),
	      "without jitter each interval is 1/hz");
	CHECK(times[0] < PERIOD * 3 / 2, "the first comes an interval later");
	ctl(PROFCLOCK, "jitter on");
	watch(7, times);
	/* Of an exponential distribution 47, 29, 27 and 16 are expected. */
	CHECK(between(times, 0, PERIOD / 2) > 27 &&
		  between(times, PERIOD / 2, PERIOD) > 12 &&
		  between(times, PERIOD, 2 * PERIOD) > 12 &&
		  between(times, 2 * PERIOD, 6 * PERIOD) > 4,
	      "with jitter they are as of events that know of no others");
	CHECK(llabs(times[SAMPLES - 1] / (SAMPLES - 1) - PERIOD) < PERIOD / 2,
	      "and their mean is the same");
	watch(8, others);
	CHECK(!same(times, others), "another seed gives other intervals");
	watch(7, again);
	CHECK(same(times, again), "the same seed gives the same intervals");
	ctl(PROFCLOCK, "jitter off");
	ctl(PROFCLOCK, "hz 100");
	return check_done();
}
