/*
 * analpc: what getpc has stored, added up and printed as tables.
 *
 * stream.c reads the stream and trusts nothing in it; report.c prints.
 */
#ifndef ANALPC_H
#define ANALPC_H

#include <sys/pcs.h>

#include "../../cmdlib/cmd.h"
#include "../../cmdlib/elfsym.h"

#define HARTS  16 /* what four bits can tell */
#define LEVELS 16
#define PIDS   32768
#define TYPES  (MKERNELI + 1)

/* A stream, added up, in hits. */
struct profile {
	unsigned int start, stop; /* seconds since 1970 */
	bool stopped;             /* there was a STOP */
	struct ISAMPLE *requests;
	size_t requests_count;
	uint64_t total;
	uint64_t lost;
	bool lost_more; /* a header couldn't hold how many */
	uint64_t of_type[TYPES];
	uint64_t of_level[LEVELS]; /* in the kernel, recorded one by one */
	uint64_t of_hart[HARTS], idle_of[HARTS];
	struct {
		uint64_t user, kernel;
	} of_pid[PIDS]; /* recorded one by one */
	struct PSAMPLE *samples;
	size_t samples_count;
};

/* Read a stream. What can't be one ends the command; one that is cut off is
 * complained of, and taken as far as it goes. */
void stream_load(struct profile *p, const char *path);

/* Whose functions are charged. */
struct program {
	int pid; /* OTHERS: all processes that have none of their own */
	const char *path;
	struct elfsyms syms;
	uint64_t end;   /* of text, where the symbols tell */
	uint64_t *hits; /* of each symbol, and then of none */
};
#define OTHERS       0
#define KERNEL_SPACE (-1)

/* Print all tables, at most limit lines of each. */
void report(const struct profile *p, struct program *programs, size_t count,
	    size_t limit);

#endif
