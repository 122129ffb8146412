/*
 * The sampling clock leaves other work at least half of each hart's time, at
 * every rate and with all profilers on, and accounts for each sample that it
 * had to skip.
 */
#include <sys/wait.h>

#include "pcs.h"
#include "prf.h"

#define N     8 /* prf's addresses */
#define US    (system_now().timebase / 1000000)
#define SETUP (300000 * US) /* for forks, and settings */

int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

/* What a busy process got done while samples were held, and then at a rate. */
struct work {
	uint64_t held, sampled;
};

/* From when to when; all of them, and the same for all. */
static uint64_t held_start, sampled_start, span;
static unsigned int harts;
static int minor[HARTS + 1];
static unsigned long text[N];
static int reported[2];

static uint64_t
work_from(uint64_t start)
{
	uint64_t n = 0;

	while (rdtime() < start)
		;
	while (rdtime() < start + span)
		n++;
	return n;
}

static void
worker(void)
{
	static unsigned short clocks;
	struct work w;

	__aix_profil(&clocks, 2, 0, 2);
	w.held = work_from(held_start);
	w.sampled = work_from(sampled_start);
	write(reported[1], &w, sizeof(w));
	_exit(0);
}

static int
arm(void)
{
	int pcs = pcs_open();

	ctl(KPCTL, "startclr");
	prf_switch_all(minor, harts, text, N, PRF_ON);
	ioctl(pcs, PROF_STACK, NULL);
	ioctl(pcs, PROF_ALL, NULL);
	return pcs;
}

/* The account of all harts, to be read on hold. */
struct account {
	uint64_t taken, due;
};

static struct account
account_now(void)
{
	struct sysinfo info = system_now();
	struct account a = {0, 0};

	for (unsigned int i = 0; i < harts; i++) {
		a.taken += info.taken[i];
		a.due += info.taken[i] + info.skipped[i];
	}
	return a;
}

static void
check_shares(const char *what)
{
	uint64_t held = 0, sampled = 0, least = 1000;

	for (unsigned int i = 0; i < harts; i++) {
		struct work w;
		uint64_t share;

		read(reported[0], &w, sizeof(w));
		held += w.held;
		sampled += w.sampled;
		share = w.held > 0 ? 1000 * w.sampled / w.held : 0;
		if (share < least)
			least = share;
	}
	fprintf(stderr, "%s: work %lu permille, least %lu\n", what,
		(unsigned long)(held ? 1000 * sampled / held : 0),
		(unsigned long)least);
	CHECK(2 * sampled >= held, "%s: other work has half the time", what);
}

static void
try(unsigned int hz, const char *jitter, unsigned int ms)
{
	struct account before, after;
	uint64_t start, stop, taken, expected;
	char what[64];
	int pcs;

	snprintf(what, sizeof(what), "%u Hz, jitter %s", hz, jitter);
	ctl(PROFCLOCK, "hold");
	ctl(PROFCLOCK, "hz %u", hz);
	ctl(PROFCLOCK, "jitter %s", jitter);
	before = account_now();
	pcs = arm();
	pipe(reported);
	span = ms * 1000 * US;
	held_start = rdtime() + SETUP;
	sampled_start = held_start + span + SETUP;
	for (unsigned int i = 0; i < harts; i++)
		if (fork() == 0)
			worker();
	while (rdtime() < held_start + span)
		usleep(10000);
	start = rdtime();
	ctl(PROFCLOCK, "go");
	if (rdtime() > sampled_start)
		printf("too late\n");
	while (wait(NULL) > 0)
		;
	ctl(PROFCLOCK, "hold");
	stop = rdtime();
	after = account_now();
	check_shares(what);
	taken = after.taken - before.taken;
	expected = harts * (stop - start) * hz / system_now().timebase;
	fprintf(stderr, "%s: due %lu, expected %lu, taken %lu, kprof %u\n",
		what, (unsigned long)(after.due - before.due),
		(unsigned long)expected, (unsigned long)taken, kpdata(TOTAL));
	CHECK(kpdata(TOTAL) == taken, "%s: what was due and not skipped", what);
	ctl(KPCTL, "stop");
	prf_switch_all(minor, harts, text, N, 0);
	close(pcs);
	close(reported[0]);
	close(reported[1]);
}

int
main(int argc, char **argv)
{
	harts = prf_open_all(minor, text, N);
	for (int i = 1; i < argc; i++) {
		try(atoi(argv[i]), "off", 500);
		try(atoi(argv[i]), "on", 500);
	}
	ctl(PROFCLOCK, "hz 100");
	ctl(PROFCLOCK, "jitter off");
	ctl(PROFCLOCK, "go");
	return check_done();
}
