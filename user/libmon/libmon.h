/*
 * monitor(3) and programs compiled with -pg: what is being counted.
 *
 * A call is counted in a cell of a hash table without a lock, by any number of
 * threads at once and in signal handlers. A cell is taken by a compare and
 * swap of its key, and never given back while its table is in use.
 */
#ifndef LIBMON_H
#define LIBMON_H

#include <mon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cell {
	uint64_t key;   /* atomic. 0: free; the callee's pc, or an arc */
	uint64_t count; /* atomic */
};

/* An arc's key is both pcs: a program lies below 2 GiB. */
#define ARC(from, self) ((uint64_t)(from) << 32 | (self))
#define ARC_FROM(key)   ((key) >> 32)
#define ARC_SELF(key)   ((key)&UINT32_MAX)

struct monitor {
	bool running; /* atomic. _mcount looks at the others only if it's set */
	uintptr_t low, high; /* of the text */
	bool arcs;           /* cells are for gmon.out */
	struct cell *cells;
	size_t ncells;
	uint64_t lost; /* atomic: calls that found no cell */

	/* The histogram: counts[0] is that of width bytes from low on. */
	HISTCOUNTER *counts;
	size_t ncounts;
	unsigned int width;
	/* With a width over 2, counts[-1] has the first half of counts[0]. */
};

extern struct monitor __monitor;

/* Set in a program that has _mcount: monstartup is for gmon.out, and this
 * writes it. */
extern void (*__gmon_write)(const struct monitor *m, FILE *f);

#endif
