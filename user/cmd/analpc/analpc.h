/*
 * analpc: what getpc has stored, added up and printed as tables.
 *
 * stream.c reads the stream and trusts nothing in it; report.c prints.
 */
#ifndef ANALPC_H
#define ANALPC_H

#include "../../cmdlib/cmd.h"
#include "../../cmdlib/elfsym.h"
#include "../../cmdlib/pcsread.h"
#include "../../cmdlib/pcswho.h"
#include "../../cmdlib/table.h"

#define LEVELS 16

/* A stream, added up, in hits. */
struct profile {
	struct pcs_walk walk;
	unsigned int start, stop; /* seconds since 1970 */
	struct ISAMPLE *requests;
	size_t requests_count, requests_room;
	uint64_t of_level[LEVELS]; /* in the kernel, recorded one by one */
	struct {
		uint64_t user, kernel;
	} of_pid[PCS_PIDS]; /* recorded one by one */
	uint64_t stacks, stacks_cut;
	unsigned int sequence; /* of the next buffer of a sealed stream */
	uint64_t missing, missing_hits; /* buffers, and the hits in them */
	unsigned int recording;         /* as all its seals have it */
	uint64_t foreign;               /* buffers of another one */
	bool has_account;
	struct ACCOUNT_RECORD account;
	struct hit {
		struct PSAMPLE at;
		uint32_t program; /* of pcs_programs */
	} * samples;
	size_t samples_count, samples_room;
};

/* Read a stream. What can't be one ends the command. If parts are missing, this
 * is said, and the others are taken. */
void stream_load(struct profile *p, const char *path);

/* Whose functions are charged. */
struct program {
	int pid; /* OTHERS, KNOWN: all processes that have none of their own */
	const char *path;
	struct elfsyms syms;
	uint64_t *hits; /* of each symbol, and then of none */
};
#define OTHERS       0
#define KERNEL_SPACE (-1)
#define KNOWN        (-2) /* one of pcs_programs */

/* Its symbols have been loaded: prepare its hits. */
void program_use(struct program *p, const char *path);

/* Print all tables, at most limit lines of each. */
void report(const struct profile *p, struct program *programs, size_t count,
	    size_t limit);

#endif
