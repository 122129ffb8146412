/*
 * Reading what pcs gives: LOGBUFs, record by record, and the hits they stand
 * for. See <sys/pcs.h>. Nothing in a buffer is trusted: what can't be ends the
 * command, and says at which byte of the stream it stands.
 */
#ifndef PCSREAD_H
#define PCSREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/pcs.h>

#define PCS_HARTS 16 /* what four bits can tell */
#define PCS_PIDS  32768
#define PCS_TYPES (MKERNELI + 1)

/* Where in a stream we are, and what was in it so far, in hits. */
struct pcs_walk {
	const char *name;     /* for messages */
	size_t at;            /* bytes before the buffer's first record left */
	size_t buffers;       /* that were begun */
	const char *next;     /* that record, */
	size_t left;          /* and the bytes from it on */
	int before;           /* type of the record before, in the buffer */
	unsigned int context; /* that of a PSAMPLE */
	bool stopped;         /* there was a STOP */
	uint64_t hits[PCS_HARTS][PCS_TYPES];
	uint64_t total; /* of these */
	uint64_t lost;
	bool lost_more; /* a header couldn't hold how many */
};

#define PCS_ALL (-1) /* harts, types */

/* Those on a hart, of a type. */
uint64_t pcs_hits(const struct pcs_walk *w, int hart, int type);

/* The sum for the SEAL of a LOGBUF, whose own sum is still 0. */
unsigned int pcs_sum(const struct LOGBUF *b);

/* The SEAL of a LOGBUF, which may be any BSIZE bytes. False: it has none, or
 * isn't as it was stored. */
bool pcs_seal(struct SEAL_RECORD *seal, const void *logbuf);

/* Begin the next LOGBUF. */
void pcs_buffer(struct pcs_walk *w, const void *logbuf);

/* The next record of the buffer, of any type, which stands first in each; NULL:
 * there is none left. Its hits are in w then. */
const void *pcs_next(struct pcs_walk *w);

/* Is it a PSAMPLE? */
static inline bool
pcs_is_sample(int type)
{
	return type == USER || type == KERNEL || type == KERNELI;
}

static inline int
pcs_hart(const struct PSAMPLE *s)
{
	return s->sspace & 0xf;
}

/* The kernel's lies at the top of the address space. */
static inline uint64_t
pcs_address(const struct PSAMPLE *s)
{
	return s->type == USER ? s->pc : (uint64_t)(int64_t)(int32_t)s->pc;
}

#endif
