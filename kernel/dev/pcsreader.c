/*
 * The log of pcs, the reader's side: the stream of buffers that programs read.
 *
 * The stream has the full buffers of all logs, in the order in which they
 * became full; and before them the events that have happened until then
 * (pcsevent.c). Records are copied as they are: only their hits are added up,
 * for the account.
 *
 * A reader holds log_lock, so there is one at a time. No sampler waits for it:
 * a full buffer belongs to the reader until `emptied' counts it.
 */
#include "pcslog.h"

#include <stddef.h>

#include "fs/uio.h"
#include "sched/hart.h"
#include "sched/lock.h"

#include "pcsshared.h"

size_t log_position;
uint64_t log_hits_read;
/* While log_position isn't 0, the log whose first full buffer is being read, or
 * NULL for a buffer of events. */
static struct log *reading GUARDED_BY(log_lock);

/* Has l a full buffer? The acquire ensures that whoever finds one loads its
 * contents after that. */
static bool
is_full(const struct log *l)
{
	return __atomic_load_n(&l->filled, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&l->emptied, __ATOMIC_RELAXED);
}

/* Takes no mutex, so another reader may empty the buffer before log_read. */
bool
log_full(void)
{
	for (const struct log *l = logs; l < logs + nharts; l++)
		if (is_full(l))
			return true;
	return event_full();
}

/*
 * Returns a record's number of hits, and its size. A STACK has no hits of its
 * own: they are those of the sample before it. The records of a buffer are
 * aligned to 4 bytes only. So an event, which may be aligned to 8, is looked at
 * as an AT: both begin the same, and an AT needs no more than 4.
 */
static unsigned int
measure(const void *record, size_t *size)
{
	const struct PSAMPLE *p = record;

	*size = RECORD_SIZE;
	if (p->type >= MOMENT) {
		*size = ((const struct AT_RECORD *)record)->words * 8;
		return 0;
	}
	if (p->type == USER || p->type == KERNEL || p->type == KERNELI)
		return 1;
	if (p->type != STACK)
		return ((const struct MSAMPLE *)record)->count;
	*size = STACK_BYTES(((const struct STKSAMPLE *)record)->n);
	return 0;
}

/*
 * Returns how many hits are in the records of b that end after its first `from'
 * bytes, but within its first `to' bytes. So a record that is read in two parts
 * is counted once, with its last byte. For example, records are in bytes 4 to
 * 11, 12 to 19, and so on. If a program reads 16 bytes and then the rest, the
 * first read has the first record, and the second read has all others.
 */
static uint64_t
hits_in(const struct LOGBUF *b, size_t from, size_t to)
{
	size_t at = offsetof(struct LOGBUF, lb_data), size;
	uint64_t hits = 0;

	for (; at + b->lb_buf_hdr.h_unused < BSIZE; at += size) {
		unsigned int n = measure((const char *)b + at, &size);

		if (from < at + size && at + size <= to)
			hits += n;
	}
	return hits;
}

/*
 * Returns the log whose first full buffer comes next in the stream: the one
 * that became full first. NULL: none has a full buffer.
 *
 * The order isn't perfect. A sampler stores the time of a buffer just before it
 * counts the buffer as filled. In between, a reader may already return another
 * hart's buffer with a later time.
 */
static struct log *
first_full(void)
{
	struct log *first = NULL;
	uint64_t time, soonest = UINT64_MAX;

	must_hold(&log_lock);
	for (struct log *l = logs; l < logs + nharts; l++) {
		if (!is_full(l))
			continue;
		time = log_slot(l, l->emptied)->b_time;
		if (time < soonest) {
			first = l;
			soonest = time;
		}
	}
	return first;
}

/*
 * Copy from the first full buffer to u, from log_position to the end of the
 * buffer at most; l is its log, or NULL for a buffer of events. Returns the
 * number of bytes, or -EFAULT: then nothing counts as read. A buffer that has
 * been read to its end goes back to whoever fills it. The release comes after
 * the last load from it.
 */
static ssize_t
read_buffer(struct log *l, const struct LOGBUF *b, struct uio *u)
{
	ssize_t n;

	must_hold(&log_lock);
	n = uio_to(u, (const char *)b + log_position, BSIZE - log_position);
	if (n < 0)
		return n;
	log_hits_read += hits_in(b, log_position, log_position + n);
	log_position += n;
	reading = l;
	if (log_position < BSIZE)
		return n;
	log_position = 0;
	if (l == NULL)
		event_emptied();
	else
		__atomic_store_n(&l->emptied, l->emptied + 1, __ATOMIC_RELEASE);
	return n;
}

/*
 * Events are read before samples, so a reader knows of what it samples. Those
 * in a buffer that isn't full yet are flushed only when there is a sample to
 * be read after them.
 */
static ssize_t
read_next(struct uio *u)
{
	const struct LOGBUF *b;
	struct log *l;

	must_hold(&log_lock);
	l = log_position > 0 ? reading : first_full();
	if (log_position == 0 && l != NULL)
		event_flush();
	b = log_position == 0 || l == NULL ? event_first() : NULL;
	if (b != NULL)
		return read_buffer(NULL, b, u);
	if (l == NULL)
		return 0;
	return read_buffer(l, &log_slot(l, l->emptied)->b_log, u);
}

ssize_t
log_read(struct uio *u)
{
	ssize_t n = 1, done = 0;

	mutex_lock(&log_lock);
	while (n > 0 && u->left > 0) {
		n = read_next(u);
		done += n > 0 ? n : 0;
	}
	mutex_unlock(&log_lock);
	return done ? done : n;
}
