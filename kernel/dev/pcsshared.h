/*
 * What the three parts of the log of pcs share: the sampler's side (pcslog.c),
 * requests (pcsrequest.c) and the reader's side (pcsreader.c). pcslog.h is the
 * interface for the rest of the kernel.
 *
 * The buffers of a log form a ring. The hart's sampler fills buffers and counts
 * how many it has filled; a reader empties them and counts how many it has
 * emptied. The difference is the number of full buffers. For example, if filled
 * is 82 and emptied is 80, buffers 80 and 81 are full. They are in slots 0 and
 * 1 of the 80 slots; slot 2 has buffer 82, the one being filled or the next to
 * be. Each count is changed by one side only, so neither side waits for the
 * other.
 *
 * Who may change what:
 *
 * - Readers and requests hold log_lock, which no sampler takes. So they can do
 *   all their work with interrupts on.
 * - A sampler takes the log that it changes, by `sequence'. Who looks at the
 *   account doesn't take it: add_log copies the numbers, and copies them again
 *   if they have changed meanwhile. So no sampler waits for a request.
 * - A buffer's contents belong to the reader while the buffer is full, and to
 *   the sampler at all other times.
 * - Of the requests, log_open, log_end and log_close change the logs. They hold
 *   log_lock, and pcs is disarmed, so no sampler is using a log.
 *
 * docs/locks.md explains why this is correct, also in the memory model of
 * RISC-V.
 */
#ifndef KERNEL_PCSSHARED_H
#define KERNEL_PCSSHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "sched/lock.h"

#include "pcslog.h"

#define LOG_SLOTS   (MAX_BUFS * STACK_BUFS) /* of a log's ring */
#define RECORD_SIZE sizeof(struct PSAMPLE)  /* and of an MSAMPLE */

/* Guards what requests and readers change. It is a mutex, because a reader that
 * holds it writes user memory, and may fault. */
extern struct mutex log_lock;

/* --- The log of a hart: pcslog.c --- */

struct log {
	/*
	 * An atomic, odd while a sampler is using the fields up to `merged'. It
	 * is a lock among samplers: two may want the same log, as a synthetic
	 * sample can be taken on one hart and name another. It also tells
	 * add_log, which copies some of the fields, whether they may have
	 * changed.
	 */
	unsigned int sequence;
	/* Of the buffer being filled: the time of its MOMENT, 0 if it has
	 * none, and the context of its last sample, 0 at first. */
	uint64_t moment;
	unsigned int context;
	unsigned long filled; /* buffers, since the open; an atomic */
	struct samp_cntl smple;
	const char *end;         /* of the room in the buffer being filled */
	struct pcs_stat account; /* but for unread, thrown and skipped */
	unsigned int clocks;     /* since the last merged records */
	/* Pending hits, by the type that their merged record will have. */
	uint64_t merged[MKERNELI + 1];
	/* Changed by a reader, who holds log_lock; the sampler looks at it. */
	unsigned long emptied; /* buffers, since the open; an atomic */
	/* Full buffers belong to the reader, the others to the sampler. */
	struct buf bufs[LOG_SLOTS];
};

extern struct log *logs; /* one for each hart, from boot on */

/* Buffer number n since the open, from 0. All slots are used in turn. */
static inline struct buf *
log_slot(struct log *l, unsigned long n)
{
	return &l->bufs[n % LOG_SLOTS];
}

/*
 * These two change what samplers use. So pcs must be disarmed, and the caller
 * must hold log_lock (but for log_init, which makes the logs).
 *
 * log_clear discards buffers and pending counts. log_flush records the pending
 * counts, as far as there is room, and passes the buffer that is being filled
 * to the reader. It must be called at level 1 or higher; the reader is woken up
 * when the level is lowered (see sample_defer).
 */
void log_clear(struct log *l);
void log_flush(struct log *l);

/* --- What was requested: pcsrequest.c --- */

/*
 * The samplers' copy of what was requested. They can't read devpc, which may
 * change while they look. log_wish points to the valid one of two structs: that
 * one doesn't change. A new request is written into the other one, and then
 * log_wish is made to point there (log_ask).
 *
 * To load the pointer, relaxed order is enough: what a sampler then reads
 * through it depends on its value, and so is loaded after it.
 */
struct wish {
	unsigned int kinds;
	bool times; /* of PROF_EVENTS */
	pid_t group;
	struct pid_list list;
};

extern struct wish *log_wish; /* changed under log_lock; an atomic */

/* How many buffers each log may fill, times STACK_BUFS with call stacks. It is
 * changed under log_lock, and samplers look at it: an atomic. */
extern unsigned int log_buffers;

/* --- How far the stream has been read: pcsreader.c --- */

/* If a read has ended inside a buffer, how many bytes of that have been read;
 * else 0. The next read goes on there. */
extern size_t log_position GUARDED_BY(log_lock);
/* Hits in the records that were read since the open. A close adds those that it
 * discards, so that none counts as unread. */
extern uint64_t log_hits_read GUARDED_BY(log_lock);

#endif
