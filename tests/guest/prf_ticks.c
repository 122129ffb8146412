/*
 * prf with real samples: every one goes to its hart's table and to that of
 * all harts; off means off at once; and many may use the device together.
 */
#include <signal.h>
#include <sys/wait.h>

#include "children.h"
#include "prf.h"

#define N           4
#define USER_TICKS  10
#define DEADLINE_US (30000000L * patience())
#define WINDOW_US   500000
#define PERIOD_US   10000
#define SLACK       2 /* samples at a window's ends */
#define CHILDREN    3
#define SAMPLES     200000
#define ROUNDS      12

static unsigned long table[N];
static unsigned int harts;
static int minor[HARTS + 1];

/* Turn all minors on or off, as if at one moment. */
static void
switch_all(int state)
{
	ctl(PROFCLOCK, "hold");
	prf_switch_all(minor, harts, table, N, state);
	ctl(PROFCLOCK, "go");
}

static unsigned long
counter_now(unsigned int i)
{
	prf_get(minor[ALL], N);
	return got[N + i];
}

/* Some of everything: user mode, the kernel at each level, idling. */
static void
be_various(void)
{
	uint64_t end = now_us() + DEADLINE_US;

	while (counter_now(N) < USER_TICKS && now_us() < end)
		burn_us(30000);
	spin_and_sleep(300);
}

/*
 * PRF-2, 16: a hart gets a sample with each tick. sysinfo shows a tick when
 * its work is done, just after the sample, so those are the least that there
 * may be; the most is what fits into the time, and one that was due before and
 * came late.
 */
static void
check_ticks(const struct sysinfo *begun, const struct sysinfo *ending,
	    uint64_t elapsed)
{
	uint64_t period = ending->timebase / ending->hz;

	for (unsigned int i = 0; i < harts; i++) {
		uint64_t least = ending->ticks[i] - begun->ticks[i];

		prf_get(minor[i], N);
		CHECK(prf_sum(N) + 1 >= least,
		      "PRF-2, 16: every sample of hart %u is counted", i);
		CHECK(prf_sum(N) <= elapsed / period + 2,
		      "PRF-2: and nothing else");
	}
}

/* By the machine's clock, was each hart sampled once in 10 ms for a while? */
static bool
rate_is_right(void)
{
	unsigned long before[HARTS];
	struct timespec nap = {.tv_nsec = WINDOW_US * 1000};
	uint64_t begun = now_us(), due;
	bool right = true;

	for (unsigned int i = 0; i < harts; i++)
		before[i] = prf_get(minor[i], N) ? prf_sum(N) : 0;
	nanosleep(&nap, NULL);
	due = (now_us() - begun) / PERIOD_US;
	for (unsigned int i = 0; i < harts; i++) {
		prf_get(minor[i], N);
		right &= prf_sum(N) - before[i] + SLACK >= due &&
			 prf_sum(N) - before[i] <= due + SLACK;
	}
	return right;
}

/* A host that is busy elsewhere may let samples fall due unseen, but not
 * always. */
static void
check_rate(void)
{
	uint64_t end = now_us() + DEADLINE_US;
	bool right = false;

	switch_all(PRF_ON);
	while (!right && now_us() < end)
		right = rate_is_right();
	switch_all(0);
	CHECK(right, "PRF-2: 100 times a second");
}

/* PRF-13, 16: the table of all harts is the sum of theirs. */
static void
check_sums(void)
{
	unsigned long sum[N + 2] = {0};

	for (unsigned int i = 0; i < harts; i++) {
		prf_get(minor[i], N);
		for (unsigned int j = 0; j < N + 2; j++)
			sum[j] += got[N + j];
	}
	CHECK(prf_get(minor[ALL], N) && memcmp(got + N, sum, sizeof(sum)) == 0,
	      "PRF-13, 16: prf is the sum of all harts, counter by counter");
	CHECK(prf_sum(N) - sum[N] - sum[N + 1] > 0, "PRF-3: kernel code");
	CHECK(sum[N] >= USER_TICKS, "PRF-10: user mode");
	CHECK(sum[N + 1] > 0, "PRF-11: idle");
}

static void
check_all(void)
{
	struct sysinfo before, begun, ending;
	uint64_t elapsed;

	before = system_now();
	switch_all(PRF_ON);
	begun = system_now();
	be_various();
	ending = system_now();
	switch_all(0);
	elapsed = system_now().uptime - before.uptime;
	check_ticks(&begun, &ending, elapsed);
	check_sums();
}

/* Several harts count in one counter at once: none of it is lost. */
static void
check_atomic(void)
{
	pid_t pid[CHILDREN];

	ctl(PROFCLOCK, "hold");
	prf_put(minor[ALL], table, N);
	prf_set(minor[ALL], PRF_ON);
	for (unsigned int i = 0; i < CHILDREN; i++)
		if ((pid[i] = fork()) == 0)
			_exit(ctl(PROFCLOCK, "sample kernel 0 0 0 0 %u",
				  SAMPLES));
	for (unsigned int i = 0; i < CHILDREN; i++)
		waitpid(pid[i], NULL, 0);
	prf_set(minor[ALL], 0);
	ctl(PROFCLOCK, "go");
	CHECK(counter_now(0) == CHILDREN * SAMPLES,
	      "PRF-16: harts that count at once all count");
}

/* A child that reads and switches what the parent does too, till killed. */
static pid_t
disturb(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (unsigned int i = 0;; i = (i + 1) % harts) {
		prf_put(minor[i], table, N);
		prf_set(minor[i], PRF_ON);
		read(minor[ALL], got, 512); /* in a moment: not all of it */
		prf_get(minor[i], N);
		prf_set(minor[i], 0);
		burn_us(5000); /* for the parent gets its turns too */
	}
}

/* A child for which the sampler is hardly ever without a sample. */
static pid_t
flood(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (;;)
		ctl(PROFCLOCK, "sample kernel 0 0 0 0 1000");
}

enum { LOADED = 1, BUSY = 2, COUNTED = 4, STILL = 8, CLEARED = 16 };

/* Off, has it counted? If not, it is on for a while more: the host may have run
 * no hart in the one before. */
static bool
counted(int fd, size_t n)
{
	if (prf_get(fd, n) && prf_sum(n) > 0)
		return true;
	prf_set(fd, PRF_ON);
	burn_us(10000);
	prf_set(fd, 0);
	return false;
}

/* One profile of all harts: which of these held? */
static unsigned int
one_round(size_t n)
{
	static unsigned long large[LARGE], before[2 * LARGE + 4];
	int fd = minor[ALL];
	unsigned int held = 0;

	for (size_t i = 0; i < n; i++)
		large[i] = table[0] + 4 * i;
	if (prf_put(fd, large, n) && prf_set(fd, PRF_ON) == 0)
		held |= LOADED;
	burn_us(10000);
	if (!prf_put(fd, table, N) && errno == EBUSY)
		held |= BUSY;
	prf_set(fd, 0);
	if (AWAIT(counted(fd, n)))
		held |= COUNTED;
	memcpy(before, got, sizeof(got));
	burn_us(3000);
	if (prf_get(fd, n) && memcmp(before, got, sizeof(got)) == 0)
		held |= STILL;
	if (prf_put(fd, large, n) && prf_get(fd, n) && prf_sum(n) == 0)
		held |= CLEARED;
	return held;
}

static void
check_together(void)
{
	pid_t pid[CHILDREN];
	unsigned int held = -1;

	ctl(PROFCLOCK, "hz 1000");
	for (unsigned int i = 0; i < CHILDREN; i++)
		pid[i] = i == 0 ? flood() : disturb();
	for (unsigned int i = 0; i < ROUNDS; i++)
		held &= one_round(i % 4 ? 3 + i : LARGE);
	for (unsigned int i = 0; i < CHILDREN; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	CHECK(held & LOADED, "PRF-12: while others are switched: loaded, on");
	CHECK(held & BUSY, "PRF-26: on, it's busy");
	CHECK(held & COUNTED, "PRF-8: samples were counted");
	CHECK(held & STILL, "PRF-8: turned off, none is any more");
	CHECK(held & CLEARED, "PRF-23: loaded again, counters are 0");
	ctl(PROFCLOCK, "hz 100");
	for (unsigned int i = 0; i < harts; i++)
		prf_set(minor[i], 0);
	CHECK(prf_status(minor[0]) == PRF_VALID, "all are off");
}

int
main(void)
{
	harts = prf_open_all(minor, table, N);
	check_all();
	check_rate();
	check_atomic();
	check_together();
	return check_done();
}
