/*
 * Programs compiled with -pg: each function begins with a call of _mcount, so
 * this file is linked into just these. It begins profiling before main, and
 * ends it at exit. gmon.out is GNU's:
 *
 *   "gmon", u32 version 1, 12 zero bytes
 *   a record of each piece of the histogram: u8 0, u64 low, u64 high, u32
 *	counters, u32 samples a second, 15 bytes "seconds", 's', u16 counters
 *   a record of each arc: u8 1, u64 from, u64 self, u32 count
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmon.h"

#define FIRST 101 /* of constructors, and the last of destructors */

/* The most cells that a call looks at. If a program's indirect calls have so
 * many targets that the table is full, it would else only search the table. */
#define PROBES 256

#define PROFCLOCK  "/dev/profclock"
#define DEFAULT_HZ 100

enum { HISTOGRAM, CALLS };

extern char _start[], etext[];

void _mcount(uintptr_t from);

/* The cell of a key; NULL: there is no room for it. */
static struct cell *
cell_of(const struct monitor *m, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15 >> 32;
	size_t at = hash * m->ncells >> 32;

	for (size_t n = m->arcs ? PROBES : m->ncells; n > 0; n--) {
		struct cell *c = &m->cells[at];
		uint64_t got = __atomic_load_n(&c->key, __ATOMIC_RELAXED);

		if (got == 0 && __atomic_compare_exchange_n(
				    &c->key, &got, key, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED))
			return c;
		if (got == key) /* perhaps since a moment ago */
			return c;
		at = at + 1 < m->ncells ? at + 1 : 0;
	}
	return NULL;
}

/* A function was called: this is, too, and from is where that one returns. */
void
_mcount(uintptr_t from)
{
	struct monitor *m = &__monitor;
	uintptr_t self = (uintptr_t)__builtin_return_address(0);
	struct cell *c;

	if (!__atomic_load_n(&m->running, __ATOMIC_ACQUIRE) || self < m->low ||
	    self >= m->high)
		return;
	c = cell_of(m, m->arcs ? ARC(from, self) : self);
	__atomic_add_fetch(c != NULL ? &c->count : &m->lost, 1,
			   __ATOMIC_RELAXED);
}

/* Samples a second, as they are now. */
static uint32_t
rate(void)
{
	char text[16] = "";
	int fd = open(PROFCLOCK, O_RDONLY);
	uint32_t hz = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 3)
		hz = strtoul(text + strlen("hz "), NULL, 10);
	close(fd);
	return hz > 0 ? hz : DEFAULT_HZ;
}

static void
put8(FILE *f, uint8_t value)
{
	putc(value, f);
}

static void
put32(FILE *f, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, f);
}

static void
put64(FILE *f, uint64_t value)
{
	fwrite(&value, sizeof(value), 1, f);
}

static void
write_histogram(const struct monitor *m, FILE *f)
{
	put8(f, HISTOGRAM);
	put64(f, m->low);
	put64(f, m->low + m->ncounts * m->width);
	put32(f, m->ncounts);
	put32(f, rate());
	fwrite("seconds\0\0\0\0\0\0\0\0s", 16, 1, f);
	fwrite(m->counts, sizeof(*m->counts), m->ncounts, f);
}

/* Readers add up records of one arc: a count may need several. */
static void
write_arc(const struct cell *c, FILE *f)
{
	uint64_t left = c->count;

	while (left > 0) {
		uint32_t n = left < UINT32_MAX ? left : UINT32_MAX;

		put8(f, CALLS);
		put64(f, ARC_FROM(c->key));
		put64(f, ARC_SELF(c->key));
		put32(f, n);
		left -= n;
	}
}

static void
gmon_write(const struct monitor *m, FILE *f)
{
	fwrite("gmon\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 1, f);
	write_histogram(m, f);
	for (const struct cell *c = m->cells; c < m->cells + m->ncells; c++)
		write_arc(c, f);
}

static void __attribute__((constructor(FIRST))) start(void)
{
	__gmon_write = gmon_write;
	if (monstartup(_start, etext) < 0)
		warn("can't start profiling");
}

static void __attribute__((destructor(FIRST))) end(void)
{
	if (monitor(0) < 0)
		warn("can't write the profile");
}
