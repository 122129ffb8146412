/*
 * kprof counts every tick of every hart, and nothing else. (Samples fall due
 * with ticks until /dev/profclock says otherwise.)
 */
#include "profiling.h"

#define DEADLINE_US (30000000L * patience())
#define USER_TICKS  10

/* Some of everything: user mode, the kernel at each level, idling. */
static void
be_various(void)
{
	uint64_t end = now_us() + DEADLINE_US;

	while (kpdata(TOTAL) < kpdata(KERNEL) + USER_TICKS && now_us() < end)
		burn_us(30000);
	spin_and_sleep(100);
}

/*
 * A hart counts a tick when it does the tick's work, just after the sample;
 * or later, if it can't do it now: so the ticks that sysinfo shows are the
 * least that there were. The most is what fits into the time, and for each
 * hart one that was due before and came late.
 */
static void
check_total(uint32_t total, const struct sysinfo *begun,
	    const struct sysinfo *ending, uint64_t elapsed)
{
	uint64_t least = all_ticks(ending) - all_ticks(begun);
	uint64_t period = ending->timebase / ending->hz;

	CHECK(total + ending->harts >= least, "every tick is counted");
	CHECK(total <= ending->harts * (elapsed / period + 2),
	      "and nothing else");
}

static void
check_sums(void)
{
	size_t n = kpdata_words();
	uint32_t sum = 0, *words = malloc(4 * n);
	int fd = open(KPDATA, O_RDONLY);

	read(fd, words, 4 * n);
	close(fd);
	for (size_t i = BUCKETS; i < n; i++)
		sum += count_of(words + i);
	CHECK(sum == count_of(words + KERNEL),
	      "the buckets add up to the kernel's ticks");
	CHECK(count_of(words + TOTAL) >= sum + USER_TICKS,
	      "the total has the user's too");
	free(words);
}

int
main(void)
{
	struct sysinfo before = system_now(), begun, ending;
	uint64_t elapsed;
	uint32_t total;

	CHECK(ctl(KPCTL, "startclr") == 0, "startclr");
	begun = system_now();
	be_various();
	ending = system_now();
	CHECK(ctl(KPCTL, "stop") == 0, "stop");
	elapsed = system_now().uptime - before.uptime;
	total = kpdata(TOTAL);
	check_total(total, &begun, &ending, elapsed);
	check_sums();
	be_various();
	CHECK(kpdata(TOTAL) == total, "after stop no tick is counted");
	return check_done();
}
