/*
 * The log of pcs, the sampler's side: samples become records, and records fill
 * buffers.
 *
 * Each hart has a log of its own, as if it had a device to itself. So samplers
 * of different harts share no data, and none waits for another. (Synthetic
 * samples are the exception: see struct log.)
 *
 * A sample that was requested becomes a record. If call stacks were requested
 * too, the sample's call stack follows in the same buffer. All other samples
 * are only counted, by type. After every 100 samples of a hart (its "clocks"),
 * each of its counts that isn't 0 becomes one merged record. If the log has no
 * free buffer, a requested sample is lost, and counted as lost; but a count
 * stays pending until there is room. So while the device is open, the account
 * of each hart adds up between any two samples:
 *
 *	seen == recorded + merged + pending + lost
 *
 * log_count runs in the timer's interrupt, with SIE=0, and its cost is added to
 * each sample. So all that it calls for an ordinary sample is in this file,
 * where the compiler can inline it.
 *
 * Read the data structures first, which are in pcsshared.h; then log_count and
 * what it calls. Requests follow in pcsrequest.c, and the reader's side in
 * pcsreader.c.
 */
#include "pcslog.h"

#include <string.h>

#include "base/compiler.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/thread.h"

#include "pcsshared.h"
#include "sample.h"

#define MERGE_CLOCKS 100 /* of a hart, from merged records to the next */
#define SHORT_LIMIT  32767
#define MARGIN       (1 << 20) /* counts: longer than it takes to record */
#define SPINS        200 /* attempts to take a log before naps between them */

_Static_assert(sizeof(struct MSAMPLE) == RECORD_SIZE, "record");
_Static_assert(sizeof(struct LOGBUF) == BSIZE, "LOGBUF");
_Static_assert(HART_MAX <= 16, "sspace has four bits for the hart number");

/* The types of the records for one sample, and for many that are merged. */
static const struct {
	char one, many;
} types[] = {
    [SAMPLE_USER] = {USER, MUSER},
    [SAMPLE_KERNEL] = {KERNEL, MKERNEL},
    [SAMPLE_KERNELI] = {KERNELI, MKERNELI},
    [SAMPLE_IDLE] = {.many = IDLE},
};

struct log *logs;

/* Under -icount harts take turns, and a nap lets the holder of l run. */
static SLOW_PATH void
acquire_slowly(struct log *l)
{
	for (unsigned int n = 0;
	     __atomic_fetch_or(&l->sequence, 1, __ATOMIC_ACQUIRE) & 1; n++)
		if (n >= SPINS)
			clock_nap();
}

/*
 * Take a log, for a sampler. Samplers run with SIE=0, so the holder of a log
 * isn't interrupted. If it is taken, another hart has it, and is soon done.
 */
static void
acquire(struct log *l)
{
	if (__atomic_fetch_or(&l->sequence, 1, __ATOMIC_ACQUIRE) & 1)
		acquire_slowly(l);
}

/* The number becomes even, and greater than before: add_log notices that. */
static void
log_release(struct log *l)
{
	__atomic_add_fetch(&l->sequence, 1, __ATOMIC_RELEASE);
}

/*
 * Pass the buffer being filled to the reader, with the records that it has. The
 * release makes the whole buffer visible before the new count. sample_defer
 * makes this hart wake up the reader later; so the level must be 1 or higher.
 * From here on, h_numlost counts what is lost before the next buffer.
 */
static void
hand_over(struct log *l)
{
	struct samp_cntl *c = &l->smple;
	struct buf *b = c->cursbuf;

	c->sbuf_hdr.h_unused = b->b_log.lb_wasted + NUMWASTE - c->currptr;
	b->b_log.lb_buf_hdr = c->sbuf_hdr;
	b->b_time = rdtime();
	c->sbuf_hdr.h_numlost = 0;
	c->cursbuf = NULL;
	c->flag = NOT_FILLING;
	__atomic_store_n(&l->filled, l->filled + 1, __ATOMIC_RELEASE);
	sample_defer();
}

/* How many buffers a log may fill before one is read. */
static unsigned int
limit(const struct wish *w)
{
	unsigned int n = __atomic_load_n(&log_buffers, __ATOMIC_RELAXED);

	return w->kinds & PROF_STACK & PROF_MASK ? n * STACK_BUFS : n;
}

/*
 * Begin the next buffer. Returns the place for its first record, or NULL if no
 * buffer is free. The acquire ensures that this sampler stores to the buffer
 * only after the reader that emptied it has loaded everything.
 */
static SLOW_PATH void *
next_room(struct log *l)
{
	const struct wish *w = __atomic_load_n(&log_wish, __ATOMIC_RELAXED);
	struct samp_cntl *c = &l->smple;
	struct MOMENT_RECORD m = {MOMENT, sizeof(m) / 8, .hart = l - logs};

	if (c->cursbuf)
		hand_over(l);
	if (l->filled - __atomic_load_n(&l->emptied, __ATOMIC_ACQUIRE) >=
	    limit(w))
		return NULL;
	c->cursbuf = log_slot(l, l->filled);
	c->currptr = (caddr_t)c->cursbuf->b_log.lb_data;
	c->flag = FILLING;
	l->end = c->cursbuf->b_log.lb_wasted;
	if (w->kinds & PROF_SEAL & PROF_MASK)
		l->end -= sizeof(struct SEAL_RECORD);
	l->context = 0;
	l->moment = 0;
	if (!w->times)
		return c->currptr;
	l->moment = m.time = rdtime();
	memcpy(c->currptr, &m, sizeof(m));
	c->currptr += sizeof(m);
	return c->currptr;
}

/*
 * Returns the place for a record of this size, or NULL if no buffer is free. A
 * record is never split: one that doesn't fit into a buffer goes into the next.
 */
static void *
room(struct log *l, size_t size)
{
	struct samp_cntl *c = &l->smple;

	if (c->cursbuf && c->currptr + size <= l->end)
		return c->currptr;
	return next_room(l);
}

/* A record has been written. If the buffer is full, the reader gets it now. */
static void
log_append(struct log *l, size_t size)
{
	struct samp_cntl *c = &l->smple;

	c->currptr += size;
	if (c->currptr == l->end)
		hand_over(l);
}

static bool
listed(const struct pid_list *list, pid_t pid)
{
	for (int i = 0; i < list->p_count; i++)
		if (list->p_list[i] == pid)
			return true;
	return false;
}

/* Was this sample requested? PROF_LIST and PROF_GROUP mean user mode only. */
static bool
wanted(const struct wish *w, const struct sample *s)
{
	unsigned int kinds = w->kinds;

	if (s->mode == SAMPLE_IDLE)
		return false;
	if (kinds & PROF_ALL & PROF_MASK)
		return true;
	if (s->mode != SAMPLE_USER)
		return kinds & PROF_KERNEL & PROF_MASK;
	return (kinds & PROF_LIST & PROF_MASK && listed(&w->list, s->pid)) ||
	       (kinds & PROF_GROUP & PROF_MASK && s->pgrp == w->group);
}

/* The thread that a sample was taken of, as a context of <sys/pcs.h>. */
static unsigned int
context_of(const struct sample *s)
{
	return s->pid && s->thread ? s->thread->context : 0;
}

/* Record a sample's context, and its time if the buffer has a MOMENT. */
static struct PSAMPLE *
record_context(struct log *l, unsigned int context, struct AT_RECORD *at)
{
	*at = (struct AT_RECORD){
	    .type = AT,
	    .words = sizeof(*at) / 8,
	    .context = context,
	    .after = l->moment ? rdtime() - l->moment : 0,
	};
	l->context = context;
	return (struct PSAMPLE *)(at + 1);
}

/* Store a sample's record at p, then `size' bytes of its call stack. */
static inline void
record_at(struct PSAMPLE *p, const struct sample *s, const void *calls,
	  size_t size)
{
	p->type = types[s->mode].one;
	p->sspace = s->ipl << 4 | s->hart;
	p->pid = s->pid;
	p->pc = s->pc;
	if (size)
		memcpy(p + 1, calls, size);
}

/* Count a sample for which there is no room. h_numlost has only 16 bits, and
 * stays at its maximum, while account.lost goes on. */
static SLOW_PATH void
lose(struct log *l)
{
	short *numlost = &l->smple.sbuf_hdr.h_numlost;

	l->account.lost++;
	*numlost += *numlost < SHORT_LIMIT;
}

/* Record a requested sample. If there is no room, it is lost. */
static void
record(struct log *l, const struct sample *s)
{
	struct PSAMPLE *p = room(l, RECORD_SIZE);

	if (p == NULL) {
		lose(l);
		return;
	}
	record_at(p, s, NULL, 0);
	log_append(l, RECORD_SIZE);
	l->account.recorded++;
}

/*
 * Record a requested sample with its call stack, or with its context (an AT).
 * Room is found for all at once, as they must be in the same buffer; so the
 * stack is made first. An AT is needed if times were requested, or if the
 * sample before in the buffer was of another context. Which buffer that is, and
 * so which context, only room decides.
 */
static SLOW_PATH void
record_more(struct log *l, const struct sample *s, const struct wish *w)
{
	_Alignas(8) char calls[STACK_BYTES(STACK_MAX)];
	bool events = w->kinds & PROF_EVENTS & PROF_MASK;
	unsigned int context = events ? context_of(s) : 0;
	size_t stack = 0, size;
	bool at = events && w->times;
	void *p;

	if (w->kinds & PROF_STACK & PROF_MASK)
		stack = log_stack(s, (struct STKSAMPLE *)calls);
	/* Times count from a MOMENT, and 32 bits must be enough for them. A
	 * buffer of before they were asked for has none. */
	if (at && l->smple.cursbuf &&
	    (l->moment == 0 || rdtime() - l->moment > UINT32_MAX - MARGIN))
		hand_over(l);
	size = RECORD_SIZE + stack;
	p = room(l, size + (at ? sizeof(struct AT_RECORD) : 0));
	if (!at && context != l->context) {
		at = true;
		p = room(l, size + sizeof(struct AT_RECORD));
	}
	if (p == NULL) {
		lose(l);
		return;
	}
	if (at) {
		size += sizeof(struct AT_RECORD);
		p = record_context(l, context, p);
	}
	record_at(p, s, calls, stack);
	log_append(l, size);
	l->account.recorded++;
}

/*
 * Turn a hart's pending counts into merged records, as far as there is room.
 * What has no room, or is more than a record's count can hold, stays pending
 * until the next call. The caller has acquired the log or disarmed pcs.
 */
static void
record_merged(struct log *l)
{
	for (int type = IDLE; type <= MKERNELI; type++) {
		uint64_t *count = &l->merged[type];
		struct MSAMPLE *m = *count ? room(l, RECORD_SIZE) : NULL;

		if (m == NULL)
			continue;
		*m = (struct MSAMPLE){
		    .type = type,
		    .cfill = l - logs,
		    .count = *count < SHORT_LIMIT ? *count : SHORT_LIMIT,
		};
		*count -= m->count;
		l->account.pending -= m->count;
		l->account.merged += m->count;
		log_append(l, RECORD_SIZE);
	}
}

/*
 * The sampler calls this for each sample while pcs is armed, with SIE=0. A
 * sample adds 1 to seen, and 1 to either recorded, lost or pending.
 */
void
log_count(const struct sample *s)
{
	struct log *l = &logs[s->hart];
	const struct wish *w;

	acquire(l);
	l->account.seen++;
	w = __atomic_load_n(&log_wish, __ATOMIC_RELAXED);
	if (!wanted(w, s)) {
		l->merged[(int)types[s->mode].many]++;
		l->account.pending++;
	} else if (w->kinds & (PROF_STACK | PROF_EVENTS) & PROF_MASK) {
		record_more(l, s, w);
	} else {
		record(l, s);
	}
	if (++l->clocks == MERGE_CLOCKS) {
		l->clocks = 0;
		record_merged(l);
	}
	log_release(l);
}

void
log_clear(struct log *l)
{
	l->filled = l->emptied = l->clocks = 0;
	l->smple = (struct samp_cntl){
	    .flag = NOT_FILLING,
	};
	l->account.pending = 0;
	memset(l->merged, 0, sizeof(l->merged));
}

void
log_flush(struct log *l)
{
	record_merged(l);
	if (l->smple.cursbuf)
		hand_over(l);
}

void
log_init(void)
{
	logs = kzalloc(nharts * sizeof(*logs));
	if (logs == NULL)
		panic("no memory for the log of pcs");
	for (struct log *l = logs; l < logs + nharts; l++)
		log_clear(l);
}
