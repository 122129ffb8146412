/*
 * The sampling clock leaves other work at least half of each hart's time, at
 * any rate and with all profilers on, and accounts for each sample. The first
 * argument says what is to be checked: shares too, or where the host's load
 * would show in them only the account. With "ranges" each process has many of
 * profil's, of which the last is its own. With "all" it has fewer, and one
 * sample may be skipped for each process, as it has to copy a page for its
 * first payment. Then come milliseconds of work for each two harts, and rates.
 * With "changes" and a rate the settings change all the time.
 */
#include <mon.h>
#include <sys/wait.h>

#include "pcs.h"
#include "prf.h"

#define N       8    /* prf's addresses */
#define MANY    1000 /* ranges: a search takes most of the time */
#define SOME    100  /* enough for turns to end in a search */
#define CHANGES 200
#define AT_END  1 /* percent of the time, in which other harts idle */
#define MS      (system_now().timebase / 1000)
#define SETUP   (work_ms * MS * 3 / 5)           /* for forks, and settings */
#define SPAN    (work_ms * MS * (1 + harts / 2)) /* many turns of each */

int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

static unsigned int ranges;
static bool all;

/* What a busy process got done while samples were held, and then at a rate. */
struct work {
	uint64_t held, sampled;
};

/* When they begin, all at the same moment. */
static uint64_t held_start, sampled_start;
static unsigned int harts, work_ms;
static int minor[HARTS + 1];
static unsigned long text[N];
static int reported[2];

static uint64_t
work_from(uint64_t start)
{
	uint64_t n = 0;

	while (rdtime() < start)
		;
	for (uint64_t end = start + SPAN; rdtime() < end;)
		n++;
	return n;
}

/* Only the last one has low addresses, so all of them are looked at. */
static void
profil_many(unsigned short *clocks)
{
	static struct prof range[MANY + 1];

	for (unsigned int i = 0; i < ranges; i++)
		range[i] = (struct prof){
		    .p_low = i < ranges - 1 ? 0x70000000 : 0,
		    .p_high = 0x70000001 + i,
		    .p_buff = clocks,
		    .p_bufsize = sizeof(*clocks),
		    .p_scale = 2,
		};
	__aix_profil(range, -1, 0, 0);
}

static void
worker(void)
{
	static unsigned short clocks;
	struct work w;

	if (ranges != 0)
		profil_many(&clocks);
	else
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

/* Each process has a hart: what it got done, and the least of them, of what is
 * a hart's. At random intervals it is so on average: `slack' is in percent. */
static void
see_shares(const char *what, bool check, int slack)
{
	uint64_t held = 0, sampled = 0, least = UINT64_MAX;

	for (unsigned int i = 0; i < harts; i++) {
		struct work w;

		read(reported[0], &w, sizeof(w));
		held += w.held;
		sampled += w.sampled;
		least = w.sampled < least ? w.sampled : least;
	}
	held = held > 0 ? held : 1;
	fprintf(stderr, "%s: %lu permille, the least %lu\n", what,
		(unsigned long)(sampled * 1000 / held),
		(unsigned long)(least * harts * 1000 / held));
	if (check)
		CHECK(least * harts * 2 >= held - held * slack / 100,
		      "%s: other work has half of each hart's time", what);
}

/* With `slack` in percent. Under icount the clock is that of the hart that
 * executes; and of those that idle, when their processes have ended. */
static void
see_account(const char *what, unsigned int hz, const uint64_t *start,
	    const uint64_t *stop, struct account before, int slack)
{
	uint64_t second = system_now().timebase;
	unsigned int clocks = system_now().icount ? 1 : harts;
	uint64_t whole = (stop[0] - start[1]) * hz / second;
	uint64_t least = whole > 0 ? clocks * (whole - 1) : 0;
	uint64_t most = clocks * ((stop[1] - start[0]) * hz / second + 1);
	struct account a = account_now();

	a.taken -= before.taken;
	a.due -= before.due;
	fprintf(stderr, "%s: %lu due of %lu to %lu, %lu taken\n", what,
		(unsigned long)a.due, (unsigned long)least, (unsigned long)most,
		(unsigned long)a.taken);
	CHECK(kpdata(TOTAL) == a.taken, "%s: what was taken was counted", what);
	if (clocks < harts)
		most += most * AT_END * (harts - 1) / 100;
	CHECK(a.due >= least - least * slack / 100 &&
		  a.due <= most + most * slack / 100,
	      "%s: all that was due is taken or skipped", what);
	if (all)
		CHECK(a.due - a.taken <= harts,
		      "%s: where there is time for all, none is skipped", what);
}

static void
try(unsigned int hz, bool jitter, bool shares)
{
	uint64_t start[2], stop[2], skipped;
	struct account before;
	char what[64];
	int pcs;

	snprintf(what, sizeof(what), "%u Hz%s", hz, jitter ? ", jitter" : "");
	ctl(PROFCLOCK, "hold");
	ctl(PROFCLOCK, "hz %u", hz);
	ctl(PROFCLOCK, "jitter %s", jitter ? "on" : "off");
	before = account_now();
	skipped = skipped_now();
	pcs = arm();
	pipe(reported);
	held_start = rdtime() + SETUP;
	sampled_start = held_start + SPAN + SETUP;
	for (unsigned int i = 0; i < harts; i++)
		if (fork() == 0)
			worker();
	while (rdtime() < held_start + SPAN)
		usleep(10000);
	start[0] = rdtime();
	ctl(PROFCLOCK, "go");
	start[1] = rdtime();
	while (wait(NULL) > 0)
		;
	stop[0] = rdtime();
	ctl(PROFCLOCK, "hold");
	stop[1] = rdtime();
	see_shares(what, shares, jitter ? 10 : 0);
	see_account(what, hz, start, stop, before, jitter ? 5 : 0);
	CHECK(account_of(pcs).skipped == skipped_now() - skipped,
	      "%s: pcs says what was skipped since it was opened", what);
	ctl(KPCTL, "stop");
	prf_switch_all(minor, harts, text, N, 0);
	close(pcs);
	close(reported[0]);
	close(reported[1]);
}

/* Call f with a stack whose frames make a sample cost several intervals. */
static __attribute__((noinline)) void
at_depth(int depth, void (*f)(unsigned int), unsigned int hz)
{
	volatile int more = depth - 1;

	if (more > 0)
		at_depth(more, f, hz);
	else
		f(hz);
	more = 0; /* so that this is no tail call */
}

static void
change_often(unsigned int hz)
{
	for (int i = 0; i < CHANGES; i++) {
		uint64_t end = rdtime() + MS + i * MS / CHANGES;

		while (rdtime() < end)
			;
		ctl(PROFCLOCK, "hz %u", hz);
	}
}

/*
 * Strokes that a sample takes are counted as skipped in advance. A change of
 * the settings takes back those that will not come: else each of many changes
 * would add some to what falls due.
 */
static void
try_changes(unsigned int hz)
{
	uint64_t start[2], stop[2];
	struct account before;
	int pcs;

	ctl(PROFCLOCK, "hold");
	ctl(PROFCLOCK, "hz %u", hz);
	before = account_now();
	pcs = arm();
	start[0] = rdtime();
	ctl(PROFCLOCK, "go");
	start[1] = rdtime();
	at_depth(STACK_MAX, change_often, hz);
	stop[0] = rdtime();
	ctl(PROFCLOCK, "hold");
	stop[1] = rdtime();
	see_account("changes", hz, start, stop, before, 0);
	close(pcs);
}

int
main(int argc, char **argv)
{
	bool shares = argc > 1 && strcmp(argv[1], "account") != 0;

	all = argc > 1 && strcmp(argv[1], "all") == 0;
	if (argc > 1 && strcmp(argv[1], "ranges") == 0)
		ranges = MANY;
	else if (all)
		ranges = SOME;
	harts = prf_open_all(minor, text, N);
	if (argc > 2 && strcmp(argv[1], "changes") == 0) {
		try_changes(atoi(argv[2]));
		return check_done();
	}
	work_ms = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 3; i < argc; i++) {
		try(atoi(argv[i]), false, shares);
		try(atoi(argv[i]), true, shares);
	}
	ctl(PROFCLOCK, "hz 100");
	ctl(PROFCLOCK, "jitter off");
	ctl(PROFCLOCK, "go");
	return check_done();
}
