/*
 * profil_test: does profil(2) do what AIX's and Solaris's manuals say, and
 * pcsample(2) what Solaris's does? Each line names a clause of
 * docs/conformance.md.
 *
 * Real samples are held meanwhile, and synthetic ones (profclock(4)) say where
 * the process is. So all counters are known, and it is over at once, on any
 * machine.
 */
#include <unistd.h>

/* The header decides which profil is meant: up to here Solaris's.. */
static int (*const solaris)(unsigned short *, unsigned int, unsigned int,
			    unsigned int) = profil;

#include <mon.h>

/* ..and where <mon.h> is included, AIX's. */
static int (*const aix)(void *, unsigned int, unsigned long,
			unsigned int) = profil;

#include <errno.h>
#include <fcntl.h>
#include <pcsample.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmdlib/cmd.h"

#define PROFCLOCK "/dev/profclock"
#define TEXT      0x10000UL /* where the text begins that is profiled */
#define SLOTS     64
#define NONE      (-1L) /* no slot */
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static unsigned short buf[SLOTS];
static unsigned int checks, failures;

static void CMD_PRINTF(3, 4)
    check(bool good, const char *clause, const char *format, ...)
{
	char text[80];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	out_printf("%s %-8s%s\n", good ? "PASS" : "FAIL", clause, text);
	checks++;
	failures += !good;
}

/* --- Made-up samples --- */

static int profclock;
static bool was_held; /* before we came */

static void
clock_write(const char *line)
{
	if (write(profclock, line, strlen(line)) < 0)
		cmd_die(PROFCLOCK);
}

static void
clock_release(void)
{
	if (!was_held)
		(void)!write(profclock, "go", 2);
}

static void
interrupted(int sig)
{
	clock_release();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
clock_hold(void)
{
	char settings[512];
	ssize_t n;

	profclock = open(PROFCLOCK, O_RDWR);
	n = read(profclock, settings, sizeof(settings) - 1);
	settings[n > 0 ? n : 0] = '\0';
	if (n < 0)
		cmd_die(PROFCLOCK);
	was_held = strstr(settings, "\nhold\n") != NULL;
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	signal(SIGHUP, interrupted);
	atexit(clock_release);
	clock_write("hold");
}

/* This process is seen by so many ticks, in user mode, so far into its text. */
static void
hit(unsigned long offset, unsigned int ticks)
{
	char line[80];

	sprintf(line, "sample user 0 %d 0 %#lx %u", getpid(), TEXT + offset,
		ticks);
	clock_write(line);
}

/* --- What was counted; then all counters are 0 --- */

/* Is this counter n, and is every other 0? */
static bool
only(long slot, unsigned int n)
{
	unsigned int sum = 0, was = buf[slot];

	for (size_t i = 0; i < SLOTS; i++)
		sum += buf[i];
	memset(buf, 0, sizeof(buf));
	return was == n && sum == n;
}

static bool
none(void)
{
	return only(0, 0);
}

/* The counter that isn't 0, or NONE. */
static long
slot_seen(void)
{
	for (long i = 0; i < SLOTS; i++)
		if (buf[i] != 0)
			return only(i, buf[i]) ? i : SLOTS;
	return NONE;
}

/* --- The two flavours --- */

enum clause { BEGIN, END, FORMULA, TICK, OFF0, OFF1, EMPTY, FORK, CLAUSES };

struct flavour {
	const char *name;
	int (*on)(unsigned int scale); /* for all of buf, from TEXT on */
	/* By the manual's formula: where a pc counts, if that is in buf. */
	long (*slot)(unsigned long offset, unsigned int scale);
	const char *clause[CLAUSES];
};

static int
aix_on(unsigned int scale)
{
	return aix(buf, sizeof(buf), TEXT, scale);
}

static long
aix_slot(unsigned long offset, unsigned int scale)
{
	unsigned long byte;

	scale &= 0xffff;
	byte = scale == 2 ? 0 : offset * scale >> 16;
	byte += byte % 2; /* up */
	return scale > 1 && byte / 2 < SLOTS ? (long)byte / 2 : NONE;
}

static int
solaris_on(unsigned int scale)
{
	return solaris(buf, sizeof(buf), TEXT, scale);
}

static long
solaris_slot(unsigned long offset, unsigned int scale)
{
	unsigned long byte = offset * scale >> 16;

	byte -= byte % 2; /* down */
	return scale > 1 && byte / 2 < SLOTS ? (long)byte / 2 : NONE;
}

static const struct flavour flavours[] = {
    {"AIX",
     aix_on,
     aix_slot,
     {"AIX-4", "AIX-7", "AIX-5", "AIX-3", "AIX-16", "AIX-15", "AIX-17",
      "AIX-25"}},
    {"Solaris",
     solaris_on,
     solaris_slot,
     {"SOL-8", "SOL-7", "SOL-12", "SOL-3", "SOL-15", "SOL-15", "SOL-16",
      "SOL-18"}},
};

#define FLAVOURS LENGTH(flavours)

/* --- Both formulas, side by side --- */

static void
cell(long slot)
{
	if (slot == NONE)
		out_string("    -");
	else
		out_printf(" %4ld", slot);
}

static void
show_formulas(void)
{
	static const unsigned int scales[] = {0, 1, 2, 0x8000, 0xffff, 0x10000};
	static const unsigned long offsets[] = {
	    0, 1, 2, 3, 4, 5, 6, 7, 8, 127, 128, 255, 65535, 65536};
	bool good[FLAVOURS] = {true, true};

	out_string("The number of a pc's counter, for each scale, is half of\n"
		   "A, AIX      (pc - offset) * (scale & 0xffff) >> 16, "
		   "rounded up; for scale 2, 0\n"
		   "S, Solaris  (pc - offset) * scale >> 16, rounded down\n\n"
		   "     scale");
	for (size_t s = 0; s < LENGTH(scales); s++)
		out_printf("%#10x", scales[s]);
	out_string("\npc-offset    A    S    A    S    A    S    A    S    A  "
		   "  S    A    S\n");
	for (size_t i = 0; i < LENGTH(offsets); i++) {
		out_printf("%9lu", offsets[i]);
		for (size_t j = 0; j < FLAVOURS * LENGTH(scales); j++) {
			const struct flavour *f = &flavours[j % FLAVOURS];
			unsigned int scale = scales[j / FLAVOURS];
			long seen;

			f->on(scale);
			hit(offsets[i], 1);
			f->on(0);
			seen = slot_seen();
			cell(seen);
			good[j % FLAVOURS] &= seen ==
					      f->slot(offsets[i], scale);
		}
		out_char('\n');
	}
	out_char('\n');
	for (size_t f = 0; f < FLAVOURS; f++)
		check(good[f], flavours[f].clause[FORMULA],
		      "%s: each tick is in the counter that the formula names",
		      flavours[f].name);
}

/* --- A histogram --- */

#define REGION 96     /* bytes of text */
#define SCALE  0x4000 /* 8 of them a counter */

/* How often a byte of the region is hit: those in the middle most. */
static unsigned int
weight(unsigned int offset)
{
	return 1 + (offset < REGION / 2 ? offset : REGION - 1 - offset) / 16;
}

/* The ticks that were counted, of how many. */
static unsigned int
profile_region(const struct flavour *f, unsigned short counts[SLOTS],
	       unsigned int *hits)
{
	unsigned int sum = 0;

	*hits = 0;
	f->on(SCALE);
	for (unsigned int i = 0; i < REGION; i++) {
		hit(i, weight(i));
		*hits += weight(i);
	}
	f->on(0);
	for (size_t i = 0; i < SLOTS; i++)
		sum += counts[i] = buf[i];
	memset(buf, 0, sizeof(buf));
	return sum;
}

static void
show_histogram(void)
{
	static const char bar[] = "############################";
	unsigned short counts[FLAVOURS][SLOTS];
	unsigned int sum[FLAVOURS], hits;

	for (size_t f = 0; f < FLAVOURS; f++)
		sum[f] = profile_region(&flavours[f], counts[f], &hits);
	out_printf("\n%d bytes of text with scale %#x, %u ticks:\n\n", REGION,
		   SCALE, hits);
	out_printf("counter  %-34s  %s\n", "AIX", "Solaris");
	for (size_t i = 0; i <= REGION / 8; i++)
		out_printf("%7zu  %4u  %-28.*s  %4u%s%.*s\n", i, counts[0][i],
			   counts[0][i], bar, counts[1][i],
			   counts[1][i] ? "  " : "", counts[1][i], bar);
	out_char('\n');
	for (size_t f = 0; f < FLAVOURS; f++)
		check(sum[f] == hits, flavours[f].clause[TICK],
		      "%s: every tick is counted", flavours[f].name);
	out_char('\n');
}

/* --- What both have --- */

static void
check_bounds(const struct flavour *f)
{
	f->on(0xffff);
	hit(0, 1);
	check(only(0, 1), f->clause[BEGIN],
	      "%s: a pc at offset adds to counter 0", f->name);
	hit(-1, 1);
	check(none(), f->clause[BEGIN], "%s: a pc below offset isn't counted",
	      f->name);
	hit(2 * SLOTS - 1, 1);
	check(only(SLOTS - 1, 1), f->clause[END],
	      "%s: a pc at the end adds to the last counter", f->name);
	hit(2 * SLOTS + 1, 1);
	hit(-TEXT - 1, 1); /* the highest pc */
	check(none(), f->clause[END],
	      "%s: a pc beyond the last counter isn't counted", f->name);
	f->on(0);
}

static void
check_off(const struct flavour *f)
{
	for (unsigned int scale = 0; scale < 2; scale++) {
		f->on(0x8000);
		f->on(scale);
		hit(0, 1);
		check(none(), f->clause[scale ? OFF1 : OFF0],
		      "%s: scale %u turns profiling off", f->name, scale);
	}
}

/* In a child: 3 ticks of before, and 4 of its own. */
static void
check_fork(const struct flavour *f)
{
	int status = 0;
	pid_t pid;

	f->on(0x8000);
	hit(0, 3);
	pid = fork();
	if (pid == 0) {
		hit(0, 4);
		_exit(buf[0]);
	}
	waitpid(pid, &status, 0);
	check(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7,
	      f->clause[FORK], "%s: profiling stays on in a child process",
	      f->name);
	hit(0, 2);
	check(only(0, 5), f->clause[FORK],
	      "%s: profiling stays on in the parent, with its own counters",
	      f->name);
	f->on(0);
}

/* --- AIX's own --- */

static void
check_aix(void)
{
	aix_on(0xffff);
	hit(0, 65534);
	check(buf[0] == 65534, "AIX-8", "a counter may be 65534");
	hit(0, 1);
	check(buf[0] == 65535, "AIX-8", "a counter may be 65535");
	hit(0, 1);
	hit(4, 1);
	check(buf[0] == 65535 && buf[2] == 1, "AIX-8",
	      "that counter stays at 65535, and other counters still count");
	memset(buf, 0, sizeof(buf));
	aix_on(0);
	aix_on(0x1ffff);
	hit(4, 1);
	check(only(2, 1), "AIX-11", "the scale's high half is ignored");
	aix_on(0x10000);
	hit(0, 1);
	check(none(), "AIX-11", "scale 0x10000 turns profiling off");
	aix_on(2);
	hit(0x7fff0000 - TEXT, 1);
	check(only(0, 1), "AIX-14",
	      "scale 2: the first counter counts every pc");
	aix_on(0);
	aix(buf, 0, TEXT, 0xffff);
	hit(0, 1);
	check(none(), "AIX-17", "BufferSize 0: nothing is counted");
	aix_on(0);
}

static void
check_aix_calls(void)
{
	struct prof end = {.p_high = 0};

	check(aix_on(0xffff) == 0, "AIX-31", "turning profiling on returns 0");
	check(aix(buf + 2, 8, TEXT, 0x8000) == 0, "AIX-28",
	      "turning profiling on twice succeeds");
	hit(4, 1);
	check(only(2, 1), "AIX-28", "the second call changes nothing");
	check(aix(&end, -1, 0, 0) == 0, "AIX-27",
	      "turning profiling off with ranges succeeds");
	hit(4, 1);
	check(only(2, 1), "AIX-27", "the call with ranges changes nothing");
	check(aix_on(0) == 0 && aix_on(0) == 0, "AIX-29",
	      "turning profiling off twice succeeds");
	errno = 0;
	check(aix(NULL, 2, TEXT, 2) == -1 && errno == EFAULT, "AIX-33",
	      "a NULL buffer fails with EFAULT");
}

/* The second has its counters before the first's, and a gap between them. */
static void
check_ranges(void)
{
	struct prof ranges[] = {
	    {TEXT, TEXT + 64, buf + 32, 16, -1},
	    {TEXT + 96, TEXT + 128, buf, 32, 0xffff},
	    {.p_high = 0},
	};
	bool good = true;

	check(aix(ranges, -1, 0, 0) == 0, "AIX-23",
	      "ranges: their buffers may have any order and gaps");
	for (unsigned int i = 0; i < 64; i++) {
		hit(i, 1);
		good &= slot_seen() / 8 == 32 / 8;
	}
	check(good, "AIX-19", "scale -1: the counters span the whole range");
	hit(63, 1);
	check(only(39, 1), "AIX-19", "scale -1: the last counter is used");
	hit(96 + 4, 1);
	check(only(2, 1), "AIX-20", "any other scale is used unchanged");
	hit(64, 1);
	hit(95, 1);
	check(none(), "AIX-18", "a pc outside all ranges isn't counted");
	hit(0, 70000);
	check(only(32, 65535), "AIX-8", "ranges: a counter stays at 65535");
	check(aix(&ranges[2], -1, 0, 0) == 0, "AIX-24",
	      "p_high 0 in the first range turns profiling off");
	hit(0, 1);
	check(none(), "AIX-24", "after p_high 0, nothing is counted");
	ranges[1].p_high = TEXT + 32;
	errno = 0;
	check(aix(ranges, -1, 0, 0) == -1 && errno == EINVAL, "AIX-35",
	      "ranges: descending p_high fails with EINVAL");
}

/* --- Solaris's own --- */

static void
check_solaris(void)
{
	solaris_on(0x10000);
	hit(0, 32766);
	hit(2, 1);
	check(buf[0] == 32766 && buf[1] == 1, "SOL-5",
	      "a counter may be 32766");
	hit(0, 1);
	check(buf[0] == 32767, "SOL-5", "a counter may be 32767");
	hit(0, 1);
	hit(2, 1);
	check(buf[0] == 32767 && buf[1] == 1, "SOL-5",
	      "at 32767 profiling ends");
	memset(buf, 0, sizeof(buf));
	solaris_on(0x10000);
	hit(2, 1);
	check(only(1, 1), "SOL-13",
	      "scale 0x10000: a counter for each pair of bytes");
	solaris_on(0x8000);
	hit(3, 1);
	check(only(0, 1), "SOL-32",
	      "scale 0x8000: four bytes have one counter");
	hit(4, 1);
	check(only(1, 1), "SOL-32",
	      "scale 0x8000: the next four have the next counter");
	solaris(buf, 0, TEXT, 0x10000);
	hit(0, 1);
	check(none(), "SOL-16", "bufsiz 0: nothing is counted");
	solaris(NULL, 64, TEXT, 0x10000);
	hit(0, 1);
	solaris_on(0);
	check(solaris_on(0x10000) == 0, "SOL-19",
	      "a bad buffer turns profiling off, without an error");
	check(solaris(buf + 2, 8, TEXT, 0x8000) == 0, "SOL-1",
	      "a second call succeeds");
	hit(4, 1);
	check(only(3, 1), "SOL-1", "a second call replaces the first");
	solaris_on(0);
}

/* --- Threads --- */

/* A thread that is there, and hits the first byte when it's told to. */
struct hitter {
	pthread_t thread;
	int gate[2]; /* a pipe */
};

static void *
hitter_run(void *hitter)
{
	struct hitter *h = hitter;
	char byte;

	if (read(h->gate[0], &byte, 1) == 1)
		hit(0, 1);
	return NULL;
}

static void
hitter_make(struct hitter *h)
{
	if (pipe(h->gate) < 0)
		cmd_die("pipe");
	errno = pthread_create(&h->thread, NULL, hitter_run, h);
	if (errno != 0)
		cmd_die("pthread_create");
}

static void
hitter_hit(struct hitter *h)
{
	(void)!write(h->gate[1], "", 1);
	pthread_join(h->thread, NULL);
	close(h->gate[0]);
	close(h->gate[1]);
}

static void
check_threads(void)
{
	struct hitter before, after;

	hitter_make(&before);
	solaris_on(0x10000);
	hitter_hit(&before);
	check(only(0, 1), "SOL-20", "a thread made before the call is counted");
	hitter_make(&after);
	hitter_hit(&after);
	check(only(0, 1), "SOL-20", "a thread made after the call is counted");
	solaris_on(0);
}

/* --- pcsample --- */

static uintptr_t pcs[4];

/* Are these n of them the text's first byte, and the others 0? Then all are. */
static bool
stored(size_t n)
{
	bool good = true;

	for (size_t i = 0; i < LENGTH(pcs); i++)
		good &= pcs[i] == (i < n ? TEXT : 0);
	memset(pcs, 0, sizeof(pcs));
	return good;
}

static void
check_pcsample(void)
{
	check(pcsample(pcs, 4) == 0, "SOL-21",
	      "pcsample: the first call returns 0");
	hit(5, 1);
	hit(1, 1);
	check(pcs[0] == TEXT + 5 && pcs[1] == TEXT + 1 && pcs[2] == 0, "SOL-22",
	      "pcsample: pcs are stored unchanged");
	memset(pcs, 0, sizeof(pcs));
	check(pcsample(pcs, 4) == 2, "SOL-23",
	      "pcsample: the next call returns how many were stored");
	hit(0, 6);
	check(stored(4), "SOL-25", "pcsample: a full array is not overwritten");
	check(pcsample(pcs, 0) == 4, "SOL-25",
	      "pcsample: after a full array, its length is returned");
	hit(0, 1);
	check(stored(0), "SOL-24", "pcsample: length 0 turns sampling off");
	errno = 0;
	check(pcsample(pcs, -1) == -1 && errno == EINVAL, "SOL-27",
	      "pcsample: a negative length fails with EINVAL");
	pcsample(NULL, 4);
	hit(0, 1);
	check(pcsample(pcs, 4) == 0, "SOL-26",
	      "pcsample: a bad array turns sampling off");
	solaris_on(0x10000);
	hit(0, 1);
	check(stored(0) && only(0, 1), "SOL-30",
	      "pcsample: a call of profil replaces pcsample");
	pcsample(pcs, 4);
	hit(0, 1);
	check(stored(1) && none(), "SOL-30",
	      "pcsample: a call of pcsample replaces profil");
	pcsample(NULL, 0);
}

static void
check_pcsample_others(void)
{
	struct hitter before;
	int status = 0;
	pid_t pid;

	hitter_make(&before);
	pcsample(pcs, 4);
	hitter_hit(&before);
	check(pcs[0] == TEXT, "SOL-31",
	      "pcsample: a thread made before the call is sampled");
	pid = fork();
	if (pid == 0) {
		hit(0, 1);
		_exit(pcsample(NULL, 0));
	}
	waitpid(pid, &status, 0);
	check(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 2,
	      "SOL-28", "pcsample: sampling stays on in a child process");
	hit(0, 1);
	check(stored(2), "SOL-28",
	      "pcsample: sampling stays on in the parent, with its own array");
	pcsample(NULL, 0);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "profil_test", "");
	cmd_flags("");
	cmd_operands(0, 0);
	clock_hold();
	show_formulas();
	show_histogram();
	for (size_t f = 0; f < FLAVOURS; f++) {
		check_bounds(&flavours[f]);
		check_off(&flavours[f]);
		check_fork(&flavours[f]);
	}
	check_aix();
	check_aix_calls();
	check_ranges();
	check_solaris();
	check_threads();
	check_pcsample();
	check_pcsample_others();
	out_printf("\n%u of %u checks passed\n", checks - failures, checks);
	if (failures != 0)
		cmd_status = cmd_trouble;
	return cmd_done();
}
