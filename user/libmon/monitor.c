/*
 * monitor, monstartup and moncontrol: monitor(3).
 *
 * AIX's profil rounds up, and its scale has 16 bits. For a counter to stand
 * for the bytes [low + i * width, low + (i + 1) * width) and no others, the
 * text is cut into ranges of profil's second form:
 *
 *   width 2	pieces of 64 KiB, in each of which scale 0xffff is exact
 *   width 4..	half a counter's bytes, which have a counter of their own; then
 *		the rest, where rounding up is rounding down of the whole
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/locks.h"
#include "libmon.h"

#define WIDTH_MAX    0x8000  /* bytes, for scale 4: 2 isn't one */
#define EXACT        0x10000 /* bytes of text that scale 0xffff is exact for */
#define SCALE(width) (2 * 0x10000 / (width))
#define TEXT_A_CELL  4 /* bytes: those of a call */
#define CELLS_MIN    64

int __monitor_write(struct monitor *m);

extern void (*__fork_child)(void);

struct monitor __monitor;
void (*__gmon_write)(const struct monitor *m, FILE *f);

static struct __lock lock; /* guards all but what _mcount does */

/* How many counters a histogram of this width has, with the half one. */
static size_t
counters(uintptr_t low, uintptr_t high, unsigned int width)
{
	return (high - low + width - 1) / width + (width > 2);
}

/* Turn profil on for the histogram. */
static int
sampling_on(const struct monitor *m)
{
	size_t pieces = m->width > 2 ? 2 : (m->high - m->low) / EXACT + 1;
	struct prof ranges[pieces + 1], *r = ranges;
	uintptr_t low = m->low;

	if (m->width > 2) {
		*r++ = (struct prof){low, low + m->width / 2, m->counts - 1,
				     sizeof(HISTCOUNTER), 2};
		low += m->width / 2;
		*r++ = (struct prof){low, m->high, m->counts,
				     m->ncounts * sizeof(HISTCOUNTER),
				     SCALE(m->width)};
		low = m->high;
	}
	for (; low < m->high; low = r++->p_high) {
		uintptr_t left = m->high - low;
		uintptr_t n = left < EXACT ? left : EXACT;

		*r = (struct prof){low, low + n, m->counts + (low - m->low) / 2,
				   (n + 1) / 2 * 2, 0xffff};
	}
	r->p_high = 0;
	return profil(ranges, -1, 0, 0);
}

static int
sampling_off(void)
{
	struct prof none = {.p_high = 0};

	return profil(&none, -1, 0, 0);
}

/* moncontrol. The lock is held. */
static int
control(struct monitor *m, bool on)
{
	bool was = m->running;

	if (m->counts == NULL) {
		errno = EINVAL;
		return -1;
	}
	if (on == was)
		return was;
	if ((on ? sampling_on(m) : sampling_off()) < 0)
		return -1;
	__atomic_store_n(&m->running, on, __ATOMIC_RELEASE);
	return was;
}

int
moncontrol(int mode)
{
	int r;

	lock_take(&lock);
	r = control(&__monitor, mode != 0);
	lock_give(&lock);
	return r;
}

static void
clear(struct monitor *m)
{
	int half = m->width > 2;

	memset(m->counts - half, 0, (m->ncounts + half) * sizeof(*m->counts));
	memset(m->cells, 0, m->ncells * sizeof(*m->cells));
	m->lost = 0;
}

/* A child begins from nothing, and goes on as its parent does. A thread that
 * had the lock isn't there. */
static void
fork_child(void)
{
	lock = (struct __lock){0};
	if (__monitor.counts != NULL)
		clear(&__monitor);
}

/* Drop what there is and begin with what `new` says. The lock is held. */
static int
begin(struct monitor *m, const struct monitor *new)
{
	if (m->running && control(m, false) < 0)
		return -1;
	*m = *new;
	clear(m);
	__fork_child = fork_child;
	if (control(m, true) >= 0)
		return 0;
	m->counts = NULL;
	return -1;
}

/* Lay out a buffer of so many counters: cells, then the histogram with the
 * smallest width that fits. */
static int
lay_out(struct monitor *m, HISTCOUNTER *buffer, size_t size, size_t ncells)
{
	uintptr_t at = (uintptr_t)buffer, end = (uintptr_t)(buffer + size);

	at += -at % _Alignof(struct cell);
	if (m->low >= m->high || at > end ||
	    ncells > (end - at) / sizeof(struct cell))
		return -1;
	m->cells = (struct cell *)at;
	m->ncells = ncells;
	at += ncells * sizeof(struct cell);
	size = (end - at) / sizeof(HISTCOUNTER);
	m->width = 2;
	while (counters(m->low, m->high, m->width) > size)
		if ((m->width *= 2) > WIDTH_MAX)
			return -1;
	m->counts = (HISTCOUNTER *)at + (m->width > 2);
	m->ncounts = (m->high - m->low + m->width - 1) / m->width;
	return 0;
}

/* monitor(0). What can't be stopped is on no longer. */
static int
finish(void)
{
	struct monitor *m = &__monitor;
	int r = 0;

	lock_take(&lock);
	if (m->counts != NULL) {
		control(m, false);
		r = __monitor_write(m);
		m->counts = NULL;
	}
	lock_give(&lock);
	return r;
}

int
monitor(void *low, ...)
{
	struct monitor m = {.low = (uintptr_t)low};
	HISTCOUNTER *buffer;
	int size, nfunction, r;
	va_list args;

	if (low == NULL)
		return finish();
	va_start(args, low);
	m.high = (uintptr_t)va_arg(args, void *);
	buffer = va_arg(args, HISTCOUNTER *);
	size = va_arg(args, int);
	nfunction = va_arg(args, int);
	va_end(args);
	if (size < 0 || nfunction < 0 ||
	    lay_out(&m, buffer, size, nfunction) < 0) {
		errno = EINVAL;
		return -1;
	}
	lock_take(&lock);
	r = begin(&__monitor, &m);
	lock_give(&lock);
	return r;
}

/*
 * Memory for so many counters; NULL: none. It is kept for the next time, and
 * never freed: a thread may still be in _mcount.
 */
static HISTCOUNTER *
memory(size_t size)
{
	static HISTCOUNTER *kept;
	static size_t kept_size;
	HISTCOUNTER *new = kept;

	if (size > kept_size) {
		new = malloc(size * sizeof(*new));
		if (new != NULL) {
			kept = new;
			kept_size = size;
		}
	}
	return new;
}

int
monstartup(void *low, void *high)
{
	struct monitor m = {
	    .low = (uintptr_t)low,
	    .high = (uintptr_t)high,
	    .arcs = __gmon_write != NULL,
	};
	size_t cells = 0, size;
	HISTCOUNTER *buffer;
	int r = -1;

	if (m.low == 0 || m.low >= m.high) {
		errno = EINVAL;
		return -1;
	}
	if (m.arcs)
		cells = (m.high - m.low) / TEXT_A_CELL + CELLS_MIN;
	size = counters(m.low, m.high, 2) +
	       (cells + 1) * (sizeof(struct cell) / sizeof(HISTCOUNTER));
	lock_take(&lock);
	buffer = memory(size);
	if (buffer != NULL) {
		lay_out(&m, buffer, size, cells);
		r = begin(&__monitor, &m);
	}
	lock_give(&lock);
	return r;
}
