/*
 * /dev/profclock: the sampling clock keeps the rate it is given, with jitter
 * too, and takes no samples on hold. kprof's total counts them.
 */
#include "profiling.h"

#define SECOND  1000000 /* us */
#define TICK_US 10000

static void
nap_us(uint64_t us)
{
	struct timespec nap = {us / SECOND, us % SECOND * 1000};

	nanosleep(&nap, NULL);
}

/*
 * Count samples for a while, with the clock as it is set: did hz of them fall
 * due a second, on each hart, give or take slack? On hold all that was due till
 * then is accounted for, however late a hart may be.
 */
static bool
keeps_rate(unsigned int hz, uint64_t us, uint64_t slack)
{
	size_t harts = system_now().harts;
	uint64_t started[2], stopped[2], due, least, most;

	ctl(PROFCLOCK, "hold");
	due = -skipped_now();
	ctl(KPCTL, "startclr");
	started[0] = now_us();
	ctl(PROFCLOCK, "go");
	started[1] = now_us();
	nap_us(us);
	stopped[0] = now_us();
	ctl(PROFCLOCK, "hold");
	stopped[1] = now_us();
	due += kpdata(TOTAL) + skipped_now();
	ctl(KPCTL, "stop");
	ctl(PROFCLOCK, "go");
	least = harts * ((stopped[0] - started[1]) * hz / SECOND - 1);
	most = harts * ((stopped[1] - started[0]) * hz / SECOND + 2);
	if (least <= due + slack && due <= most + slack)
		return true;
	fprintf(stderr, "%lu due, %lu to %lu expected\n", (unsigned long)due,
		(unsigned long)least, (unsigned long)most);
	return false;
}

/* What a profiler that is on sees of the first milliseconds after a change: a
 * busy hart's samples. */
static void
check_at_once(void)
{
	uint64_t due;

	for (unsigned int ms = 2; ms <= 32; ms *= 2) {
		ctl(PROFCLOCK, "hold");
		ctl(PROFCLOCK, "hz 1000");
		due = -skipped_now();
		ctl(KPCTL, "startclr");
		ctl(PROFCLOCK, "go");
		burn_us(ms * 1000);
		ctl(PROFCLOCK, "hold");
		due += kpdata(TOTAL) + skipped_now();
		CHECK(due >= ms * system_now().harts,
		      "%u ms after a change: every sample of them was due", ms);
	}
	ctl(KPCTL, "stop");
	ctl(PROFCLOCK, "hz 100");
	ctl(PROFCLOCK, "go");
}

/* Without a hold around it. */
static void
check_while_going(void)
{
	uint64_t due = -skipped_now();

	ctl(KPCTL, "startclr");
	ctl(PROFCLOCK, "hz 1000");
	burn_us(20000);
	ctl(PROFCLOCK, "hold");
	due += kpdata(TOTAL) + skipped_now();
	CHECK(due >= 20 * system_now().harts,
	      "a rate is followed at once, without a hold");
	ctl(KPCTL, "stop");
	ctl(PROFCLOCK, "hz 100");
	ctl(PROFCLOCK, "go");
}

static void
check_rates(void)
{
	static const struct {
		unsigned int hz;
		uint64_t us;
	} rates[] = {
	    {100, SECOND},     {1000, SECOND / 2}, {7, SECOND},
	    {999, SECOND / 2}, {1, 2 * SECOND},    {100, SECOND},
	};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		ctl(PROFCLOCK, "hz %u", rates[i].hz);
		CHECK(keeps_rate(rates[i].hz, rates[i].us, 0),
		      "%zu: hz %u: so many samples a second", i, rates[i].hz);
	}
}

/* Two thirds of a timer count an interval: lost, they would be 24 samples. (A
 * rate that several harts under icount are too slow for.) */
static void
check_fractions(void)
{
	ctl(PROFCLOCK, "hz 6000");
	CHECK(keeps_rate(6000, 10 * SECOND, 0), "fractions add up");
	ctl(PROFCLOCK, "hz 100");
}

/* How many of 2000 random intervals are over is off by sqrt(2000), 45 or so. */
static void
check_jitter(void)
{
	size_t harts = system_now().harts;

	ctl(PROFCLOCK, "jitter on");
	ctl(PROFCLOCK, "hz 2000");
	CHECK(keeps_rate(2000, SECOND, 250 * harts),
	      "jitter keeps the mean interval");
	ctl(PROFCLOCK, "jitter off");
	ctl(PROFCLOCK, "hz 100");
}

static void
check_hold(void)
{
	ctl(PROFCLOCK, "hold");
	ctl(KPCTL, "startclr");
	nap_us(20 * TICK_US);
	CHECK(kpdata(TOTAL) == 0, "on hold no sample is taken");
	ctl(PROFCLOCK, "sample user 0 1 0 0x10000 3");
	CHECK(kpdata(TOTAL) == 3, "but synthetic ones are counted");
	ctl(PROFCLOCK, "go");
	nap_us(20 * TICK_US);
	CHECK(kpdata(TOTAL) + skipped_now() > 10, "off hold they come again");
	ctl(KPCTL, "stop");
}

/* Whoever reads on sees one text, though a new one would be longer by then. */
static void
check_end(void)
{
	static const char longer[] = "00000"; /* than the seed is */
	char text[2048];
	ssize_t whole, now;
	int fd = open(PROFCLOCK, O_RDONLY);

	ctl(PROFCLOCK, "hold");
	whole = pread(fd, text, sizeof(text), 0);
	now = whole + strlen(longer);
	ctl(PROFCLOCK, "seed 1%s", longer);
	CHECK(pread(fd, text, sizeof(text), whole) == 0,
	      "what was read has its end");
	CHECK(pread(fd, text, sizeof(text), whole - 1) == 1, "and its rest");
	CHECK(pread(fd, text, sizeof(text), 0) == now, "a new one is longer");
	close(fd);
	fd = open(PROFCLOCK, O_RDONLY);
	CHECK(pread(fd, text, sizeof(text), whole - 1) == now - whole + 1,
	      "whoever begins amid it gets all of the rest");
	close(fd);
	ctl(PROFCLOCK, "seed 1");
	ctl(PROFCLOCK, "go");
}

int
main(void)
{
	check_rates();
	if (system_now().harts == 1)
		check_fractions();
	check_jitter();
	check_at_once();
	check_while_going();
	check_hold();
	check_end();
	return check_done();
}
