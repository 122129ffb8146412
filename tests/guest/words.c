/*
 * What devices and profilers are told, made up at random within their form:
 * control words, the console's settings, tables of addresses, parameters of
 * histograms. Each is taken, or refused with an errno that the manual has; and
 * where an independent model says what must come of it, that it does.
 */
#include <mon.h>
#include <sys/ioctl.h>
#include <sys/prf.h>
#include <termios.h>

#include "hostile.h"
#include "profiling.h"

static long
call4(long number, long arg0, long arg1, long arg2, long arg3)
{
	register long a7 asm("a7") = number;
	register long a0 asm("a0") = arg0;
	register long a1 asm("a1") = arg1;
	register long a2 asm("a2") = arg2;
	register long a3 asm("a3") = arg3;

	asm volatile("ecall"
		     : "+r"(a0)
		     : "r"(a7), "r"(a1), "r"(a2), "r"(a3)
		     : "memory");
	return a0;
}

/* --- Control words --- */

static const char *const vocabulary[] = {
    "hz",   "jitter", "seed",     "sample", "user",   "kernel", "start",
    "stop", "on",     "startclr", "off",    "0",      "-1",     "4294967296",
    "0x",   "0xffff", "hzz",      "%s%n",   "sample", "idle",   "20000000",
};

/* Words, blanks and stray bytes; its length. */
static size_t
make_line(char *line, size_t room)
{
	size_t n = 0;

	for (int words = random_below(9); words >= 0 && n + 40 < room; words--)
		n += snprintf(line + n, room - n, "%s%s",
			      vocabulary[random_below(21)],
			      &"    \t\n\n "[random_below(8)]);
	while (random_below(3) == 0 && n > 0)
		line[random_below(n)] = random_64();
	if (random_below(20) == 0) {
		memset(line, 'w', room);
		n = room;
	}
	return n;
}

static void
test_control_words(void)
{
	static const char *const files[] = {PROFCLOCK, KPCTL};
	long wrong = 0, taken = 0;
	char line[400];

	for (long i = 0; i < rounds; i++) {
		size_t n = make_line(line, sizeof(line));
		int r = ctl_bytes(files[i & 1], line, n);

		taken += r == 0;
		wrong += r != 0 && r != EINVAL && n > 0;
	}
	CHECK(wrong == 0, "control words: taken, or EINVAL");
	CHECK(taken > 0 && taken < rounds, "some of each");
	CHECK(ctl(PROFCLOCK, "hz 100\n") == 0 &&
		  ctl(PROFCLOCK, "jitter off") == 0 && ctl(KPCTL, "stop") == 0,
	      "words that are known still work");
}

/* --- Requests --- */

static void
test_console(void)
{
	int fd = open("/dev/console", O_RDWR);
	struct termios saved, t;
	long wrong = 0;

	ioctl(fd, TCGETS, &saved);
	for (long i = 0; i < rounds; i++) {
		for (size_t j = 0; j < sizeof(t); j++)
			((char *)&t)[j] = random_64();
		if (ioctl(fd, TCSETS + random_below(3), &t) < 0)
			wrong += errno != EINVAL;
		ioctl(fd, TCGETS, &t);
	}
	CHECK(ioctl(fd, TCSETS, &saved) == 0 && wrong == 0,
	      "the console's settings: anything at all");
	close(fd);
}

static void
test_requests(void)
{
	static const char *const files[] = {"/dev/console", "/dev/pcs",
					    "/dev/prf", PROFCLOCK, "/dev/null"};
	long wrong = 0;

	for (long i = 0; i < rounds; i++) {
		const char *file = files[random_below(5)];
		int fd = open(file, random_below(2) ? O_RDONLY : O_RDWR);
		unsigned int request = random_below(2)
					   ? ('P' << 8) | random_below(128)
					   : random_number();

		if (request == TCSETS || request == TCSETS + 1 ||
		    request == TCSETS + 2 || fd < 0) {
			close(fd);
			continue;
		}
		if (ioctl(fd, request, random_number()) < 0)
			wrong += errno != EINVAL && errno != EFAULT &&
				 errno != ENOTTY;
		close(fd);
	}
	CHECK(wrong == 0, "requests: EINVAL, EFAULT or ENOTTY");
}

/* --- prf's tables --- */

/* What write has to say of a table, by the manual. */
static int
table_errno(const uint64_t *table, size_t size, int max)
{
	if (size / 8 > (size_t)max)
		return ENOSPC;
	if (size / 8 < 3 || size % 8 != 0)
		return E2BIG;
	for (size_t i = 1; i < size / 8; i++)
		if (table[i] < table[i - 1])
			return EINVAL;
	return 0;
}

static void
test_tables(void)
{
	static uint64_t table[64];
	int fd = open("/dev/prf", O_RDWR);
	int max = ioctl(fd, PRF_GETMAX, NULL);
	long wrong = 0, good = 0;

	for (long i = 0; i < rounds; i++) {
		size_t n = random_below(40);
		size_t size = n * 8 + (random_below(4) ? 0 : random_below(8));
		int expected, r;

		table[0] = random_number() >> 8;
		for (size_t j = 1; j < 41; j++)
			table[j] = random_below(30)
				       ? table[j - 1] + random_below(4096)
				       : random_number();
		expected = table_errno(table, size, max);
		r = write(fd, table, size) == (ssize_t)size ? 0 : errno;
		wrong += r != expected;
		good += r == 0;
		if (r == 0 && random_below(4) == 0) {
			ioctl(fd, PRF_SETSTATE, PRF_ON);
			wrong += write(fd, table, size) != -1;
			ioctl(fd, PRF_SETSTATE, 0);
		}
	}
	CHECK(wrong == 0 && good > rounds / 10,
	      "prf's tables: as the manual says, %ld are good", good);
	CHECK_ERRNO(write(fd, table, (max + 1) * 8L), ENOSPC, "or too large");
	close(fd);
}

/* --- profil's histograms --- */

#define COUNTERS 512

static unsigned short histogram[COUNTERS + 8], model[COUNTERS + 8];

struct parameters {
	unsigned int bytes, offset, scale;
};

static struct parameters
make_parameters(void)
{
	static const unsigned int scales[] = {
	    0, 1, 2, 3, 0x8000, 0xffff, 0x10000, 0x20000, 0xffffffff,
	};

	return (struct parameters){
	    .bytes = random_below(2 * COUNTERS + 1),
	    .offset = random_below(3) ? 0x10000 + random_below(4096)
				      : random_number(),
	    .scale = random_below(2) ? scales[random_below(9)]
				     : random_number(),
	};
}

/* Where a pc counts, by the manuals; or -1. */
static long
slot_of(const struct parameters *p, bool aix, uint64_t pc)
{
	uint64_t scale = aix ? p->scale & 0xffff : p->scale;
	unsigned __int128 at;

	if (scale < 2 || pc < p->offset)
		return -1;
	at = (unsigned __int128)(pc - p->offset) * scale >> 16;
	if (aix)
		at = scale == 2 ? 0 : (at + 1) & ~(unsigned __int128)1;
	at /= 2;
	return at < p->bytes / 2 ? (long)at : -1;
}

/* One set of parameters, and some samples: is the histogram the model's? */
static bool
histogram_right(bool aix)
{
	struct parameters p = make_parameters();
	long number = aix ? SYS_aix_profil : SYS_profil;
	bool on = (aix ? p.scale & 0xffff : p.scale) > 1;
	pid_t pid = getpid();

	memset(histogram, 0, sizeof(histogram));
	memset(model, 0, sizeof(model));
	if (call4(number, (long)histogram, p.bytes, p.offset, p.scale) != 0)
		return false;
	for (int i = 0; i < 4; i++) {
		uint64_t pc = random_below(3) ? p.offset + random_below(4096)
					      : random_number() & 0x7fffffff;
		unsigned int count = random_below(100);
		long slot = on ? slot_of(&p, aix, pc) : -1;

		if (ctl(PROFCLOCK, "sample user 0 %d 0 0x%lx %u", pid,
			(unsigned long)pc, count) != 0)
			return false;
		if (slot >= 0)
			model[slot] += count;
	}
	call4(number, (long)histogram, 0, 0, 0);
	return memcmp(histogram, model, sizeof(model)) == 0;
}

static void
test_histograms(bool aix)
{
	long wrong = 0;

	ctl(PROFCLOCK, "hold");
	for (long i = 0; i < rounds; i++)
		wrong += !histogram_right(aix);
	ctl(PROFCLOCK, "go");
	CHECK(wrong == 0, "%s: the histogram is the model's, whatever is said",
	      aix ? "AIX" : "Solaris");
}

/* Ranges that are anything: an errno of the manual's, and no more. */
static void
test_ranges(void)
{
	static struct prof ranges[8];
	long wrong = 0;

	for (long i = 0; i < rounds; i++) {
		long r;

		memset(ranges, 0, sizeof(ranges));
		for (size_t j = random_below(7); j-- > 0;)
			ranges[j] = (struct prof){
			    .p_low = random_number(),
			    .p_high = random_number(),
			    .p_buff = random_below(2)
					  ? histogram + j
					  : (HISTCOUNTER *)random_number(),
			    .p_bufsize = random_below(2) ? 2 : random_number(),
			    .p_scale = random_number(),
			};
		r = call4(SYS_aix_profil, (long)ranges, -1, 0, 0);
		wrong += r != 0 && r != -EINVAL && r != -EFAULT;
		ctl(PROFCLOCK, "sample user 0 %d 0 0x%lx 3", getpid(),
		    (unsigned long)random_number());
		memset(ranges, 0, sizeof(ranges));
		call4(SYS_aix_profil, (long)ranges, -1, 0, 0);
	}
	CHECK(wrong == 0, "ranges: taken, EINVAL or EFAULT");
}

int
main(int argc, char **argv)
{
	hostile_start(argc, argv, 300);
	test_control_words();
	test_console();
	test_requests();
	test_tables();
	test_histograms(false);
	test_histograms(true);
	test_ranges();
	return check_done();
}
