/*
 * The log of pcs: samples become records, and records fill buffers.
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
 * The buffers of a log form a ring. The hart's sampler fills buffers and counts
 * how many it has filled; a reader empties them and counts how many it has
 * emptied. The difference is the number of full buffers. For example, if filled
 * is 12 and emptied is 10, buffers 10 and 11 are full. They are in slots 0 and
 * 1 of the ring; slot 2 has buffer 12, the one being filled or the next to be.
 * Each count is changed by one side only, so neither side waits for the other.
 *
 * The stream that programs read has the full buffers of all logs, in the order
 * in which they became full; and before them the events that have happened
 * until then (pcsevent.c).
 *
 * Readers and requests hold a mutex, which no sampler takes. So they can do all
 * their work with interrupts on. docs/locks.md explains why this is correct,
 * also in the memory model of RISC-V.
 *
 * Read the data structures first, then log_count and what it calls: the
 * sampler's part goes from acquire to log_count. Requests follow, from log_open
 * to log_grow, and then the reader's part, from log_full on.
 */
#include "pcslog.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "fs/uio.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"
#include "sched/thread.h"

#include "sample.h"

#define SLOTS        (MAX_BUFS * STACK_BUFS) /* of a log's ring */
#define MERGE_CLOCKS 100 /* of a hart, from merged records to the next */
#define SHORT_LIMIT  32767
#define MARGIN       (1 << 20) /* counts: longer than it takes to record */
#define SPINS        200 /* attempts to take a log before naps between them */

#define RECORD_SIZE sizeof(struct PSAMPLE) /* and of an MSAMPLE */

_Static_assert(sizeof(struct MSAMPLE) == RECORD_SIZE, "record");
_Static_assert(sizeof(struct LOGBUF) == BSIZE, "LOGBUF");
_Static_assert(HART_MAX <= 16, "sspace has four bits for a hart");

/* The types of the records for one sample, and for many that are merged. */
static const struct {
	char one, many;
} types[] = {
    [SAMPLE_USER] = {USER, MUSER},
    [SAMPLE_KERNEL] = {KERNEL, MKERNEL},
    [SAMPLE_KERNELI] = {KERNELI, MKERNELI},
    [SAMPLE_IDLE] = {.many = IDLE},
};

/*
 * The log of one hart. log_open, log_end and log_close may change all fields:
 * they hold `lock', and pcs is disarmed, so no sampler is using the log.
 */
static struct log {
	/*
	 * An atomic, odd while a sampler is using the next five fields. It is a
	 * lock among samplers: two may want the same log, as a synthetic sample
	 * can be taken on one hart and name another. It also tells add_log,
	 * which copies some of the fields, whether they may have changed.
	 */
	unsigned int sequence;
	/* Of the buffer being filled: the time of its MOMENT, 0 if it has
	 * none, and the context of its last sample, 0 at first. */
	uint64_t moment;
	unsigned int context;
	unsigned long filled; /* buffers, since the open; an atomic */
	struct samp_cntl smple;
	struct pcs_stat account; /* but for unread, thrown and skipped */
	unsigned int clocks;     /* since the last merged records */
	/* Pending hits, by the type that their merged record will have. */
	uint64_t merged[MKERNELI + 1];
	/* Changed by a reader, who holds lock, and read by the sampler. */
	unsigned long emptied; /* buffers, since the open; an atomic */
	/* Full buffers belong to the reader, the others to the sampler. */
	struct buf bufs[SLOTS];
} * logs; /* one for each hart */

/* A mutex, since a reader that holds it writes user memory, and may fault. */
static struct mutex lock = MUTEX("pcs", lock);
/* Who has opened the device, and what has been requested since. */
static struct DEVPC devpc GUARDED_BY(lock);
static bool times GUARDED_BY(lock); /* PROF_EVENTS: with times */
static unsigned int nbufs; /* for each log; changed under lock; an atomic */
/* Where the next read goes on: the log whose first full buffer it is, or NULL
 * for a buffer of events, and the bytes of it that were read. position is 0
 * unless it is inside a buffer. */
static struct log *reading GUARDED_BY(lock);
static size_t position GUARDED_BY(lock);
/* Hits in records that were read; hits that the last close discarded. */
static uint64_t hits_read GUARDED_BY(lock), thrown GUARDED_BY(lock);
/* Samples that the clock has skipped since the open, while pcs was armed. */
static struct skips skips GUARDED_BY(lock);

/*
 * The samplers' copy of what was requested. They can't read devpc, which may
 * change while they look. `wish' points to the valid one of two structs, which
 * doesn't change while it is the valid one. A new request is written into the
 * other one, and then `wish' is made to point there (log_ask).
 *
 * To load the pointer, relaxed order is enough: what a sampler then reads
 * through it depends on its value, and so is loaded after it.
 */
static struct wish {
	unsigned int kinds;
	bool times; /* of PROF_EVENTS */
	pid_t group;
	struct pid_list list;
} wishes[2], *wish = wishes; /* an atomic */

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

/* The acquire: whoever finds a buffer full loads its contents after that. */
static bool
is_full(const struct log *l)
{
	return __atomic_load_n(&l->filled, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&l->emptied, __ATOMIC_RELAXED);
}

/* Buffer number n since the open, from 0. All slots are used in turn. */
static struct buf *
ring_at(struct log *l, unsigned long n)
{
	return &l->bufs[n % SLOTS];
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
	unsigned int n = __atomic_load_n(&nbufs, __ATOMIC_RELAXED);

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
	const struct wish *w = __atomic_load_n(&wish, __ATOMIC_RELAXED);
	struct samp_cntl *c = &l->smple;
	struct MOMENT_RECORD m = {MOMENT, sizeof(m) / 8, .hart = l - logs};

	if (c->cursbuf)
		hand_over(l);
	if (l->filled - __atomic_load_n(&l->emptied, __ATOMIC_ACQUIRE) >=
	    limit(w))
		return NULL;
	c->cursbuf = ring_at(l, l->filled);
	c->currptr = (caddr_t)c->cursbuf->b_log.lb_data;
	c->flag = FILLING;
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

	if (c->cursbuf && c->currptr + size <= c->cursbuf->b_log.lb_wasted)
		return c->currptr;
	return next_room(l);
}

/* A record has been written. If the buffer is full, the reader gets it now. */
static void
log_append(struct log *l, size_t size)
{
	struct samp_cntl *c = &l->smple;

	c->currptr += size;
	if (c->currptr == c->cursbuf->b_log.lb_wasted)
		hand_over(l);
}

/* Returns a record's number of hits, and its size. A STACK itself has none. A
 * buffer's records are aligned to 4 bytes, so an event is looked at as an AT,
 * which begins like it and has no more alignment. */
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

/* Record a sample of this size, with its call stack, at p. */
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

/* h_numlost has only 16 bits, and stays at its maximum; account.lost goes
 * on. */
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
 * The same, with a call stack or events. Room is found for all at once, as they
 * must be in the same buffer; so the stack is made first. An AT is needed if it
 * is to have a time, or if the sample before in the buffer was of another
 * context. Which buffer that is, and so which context, only room decides.
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
	w = __atomic_load_n(&wish, __ATOMIC_RELAXED);
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

/* Discard buffers and pending counts. No sampler may be using the log. */
static void
clear(struct log *l)
{
	l->filled = l->emptied = l->clocks = 0;
	l->smple = (struct samp_cntl){
	    .flag = NOT_FILLING,
	};
	l->account.pending = 0;
	memset(l->merged, 0, sizeof(l->merged));
}

void
log_init(void)
{
	logs = kzalloc(nharts * sizeof(*logs));
	if (logs == NULL)
		panic("no memory for the log of pcs");
	for (struct log *l = logs; l < logs + nharts; l++)
		clear(l);
}

/* The logs have been cleared. `thrown' stays: it is about the last close. */
bool
log_open(pid_t owner)
{
	bool free;

	mutex_lock(&lock);
	free = devpc.d_clock == NO_CLOCK;
	if (free) {
		devpc = (struct DEVPC){
		    .d_clock = KW11K_CLOCK,
		    .d_runpid = owner,
		};
		for (struct log *l = logs; l < logs + nharts; l++)
			l->account = (struct pcs_stat){0};
		hits_read = 0;
		skips = (struct skips){0};
		nbufs = DEF_BUFNO;
	}
	mutex_unlock(&lock);
	return free;
}

/*
 * Add the numbers of a hart's log, all of one moment, to *s. The log isn't
 * taken, so that no sampler waits for a reader. Instead the numbers are copied
 * again if `sequence' was odd or has changed: a sampler may have changed some
 * of them during the copy. `emptied' is constant, as the caller holds lock.
 */
static void
add_log(struct log_state *s, const struct log *l)
{
	struct pcs_stat *sum = &s->account, a;
	unsigned int sequence;
	unsigned long filled;
	bool filling;

	do {
		sequence = __atomic_load_n(&l->sequence, __ATOMIC_ACQUIRE);
		if (sequence & 1)
			clock_nap();
		a = l->account;
		filled = l->filled;
		filling = l->smple.flag == FILLING;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (sequence & 1 ||
		 sequence != __atomic_load_n(&l->sequence, __ATOMIC_RELAXED));
	sum->seen += a.seen;
	sum->recorded += a.recorded;
	sum->merged += a.merged;
	sum->pending += a.pending;
	sum->lost += a.lost;
	s->full += filled - l->emptied;
	s->filling += filling;
}

/* Returns the state of all logs. The caller must hold lock. */
static struct log_state
state(void)
{
	struct log_state s = {.buffers = nbufs};

	must_hold(&lock);
	s.devpc = devpc;
	for (const struct log *l = logs; l < logs + nharts; l++)
		add_log(&s, l);
	s.account.unread = s.account.recorded + s.account.merged - hits_read;
	s.account.thrown = thrown;
	s.account.skipped = skips_count(&skips);
	s.account.untold = event_untold();
	return s;
}

/*
 * Once pcs is disarmed, the account is final and the logs may be cleared. What
 * is discarded unread counts as read, so pcstat shows none as unread.
 */
void
log_close(void)
{
	struct log_state s;

	mutex_lock(&lock);
	sample_disarm(&pcs_profiler);
	skips_switch(&skips, false);
	s = state();
	thrown = s.account.unread + s.account.pending;
	hits_read += s.account.unread;
	for (struct log *l = logs; l < logs + nharts; l++)
		clear(l);
	event_stop();
	times = wish->times = false;
	devpc = (struct DEVPC){.d_clock = NO_CLOCK};
	nbufs = position = 0;
	mutex_unlock(&lock);
}

/*
 * Requests add up, but a new list or group replaces the one before.
 *
 * The wish that isn't in use is filled in, and then put into use. A sampler may
 * have loaded the old pointer just before. sample_settle waits until no hart
 * can have it any more; so the next request may overwrite the old wish.
 */
void
log_ask(unsigned int cmd, pid_t group, const struct pid_list *list)
{
	struct wish *next;

	mutex_lock(&lock);
	next = &wishes[wish == wishes];
	if (list)
		devpc.d_list = *list;
	if (group)
		devpc.d_group = group;
	devpc.d_flag |= cmd & PROF_MASK;
	*next = (struct wish){devpc.d_flag, times, devpc.d_group, devpc.d_list};
	__atomic_store_n(&wish, next, __ATOMIC_SEQ_CST);
	sample_settle(); /* nobody has the other one any more */
	if (cmd != PROF_STACK && cmd != PROF_EVENTS) {
		skips_switch(&skips, true);
		sample_arm(&pcs_profiler);
	}
	mutex_unlock(&lock);
}

/* The events come first, so that no sample is of a context that wasn't told. */
int
log_events(bool with_times)
{
	int r;

	mutex_lock(&lock);
	r = event_start();
	if (r == 0)
		times = with_times;
	mutex_unlock(&lock);
	if (r == 0)
		log_ask(PROF_EVENTS, 0, NULL);
	return r;
}

/*
 * While pcs is disarmed, this function may do a sampler's work, with interrupts
 * on. hand_over needs level 1, at which the thread can't move to another hart:
 * this hart owes the reader the wake-up, and level_lower does it.
 */
void
log_end(void)
{
	unsigned long sie;

	mutex_lock(&lock);
	sample_disarm(&pcs_profiler);
	skips_switch(&skips, false);
	sie = level_raise(LEVEL1_MASK);
	for (struct log *l = logs; l < logs + nharts; l++) {
		record_merged(l);
		if (l->smple.cursbuf)
			hand_over(l);
	}
	level_lower(sie);
	event_flush();
	mutex_unlock(&lock);
}

/* Each ring has all its slots from the start, so nothing is allocated. */
bool
log_grow(unsigned long more)
{
	bool good;

	mutex_lock(&lock);
	good = more <= MAX_BUFS - nbufs;
	if (good)
		__atomic_store_n(&nbufs, nbufs + more, __ATOMIC_RELAXED);
	mutex_unlock(&lock);
	return good;
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

	must_hold(&lock);
	for (struct log *l = logs; l < logs + nharts; l++) {
		if (!is_full(l))
			continue;
		time = ring_at(l, l->emptied)->b_time;
		if (time < soonest) {
			first = l;
			soonest = time;
		}
	}
	return first;
}

/*
 * Copy from the first full buffer to u, from `position' to the end of the
 * buffer at most; l is its log, or NULL for a buffer of events. Returns the
 * number of bytes, or -EFAULT: then nothing counts as read. A buffer that has
 * been read to its end goes back to whoever fills it. The release comes after
 * the last load from it.
 */
static ssize_t
read_buffer(struct log *l, const struct LOGBUF *b, struct uio *u)
{
	ssize_t n;

	must_hold(&lock);
	n = uio_to(u, (const char *)b + position, BSIZE - position);
	if (n < 0)
		return n;
	hits_read += hits_in(b, position, position + n);
	position += n;
	reading = l;
	if (position < BSIZE)
		return n;
	position = 0;
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

	must_hold(&lock);
	l = position > 0 ? reading : first_full();
	if (position == 0 && l != NULL)
		event_flush();
	b = position == 0 || l == NULL ? event_first() : NULL;
	if (b != NULL)
		return read_buffer(NULL, b, u);
	if (l == NULL)
		return 0;
	return read_buffer(l, &ring_at(l, l->emptied)->b_log, u);
}

ssize_t
log_read(struct uio *u)
{
	ssize_t n = 1, done = 0;

	mutex_lock(&lock);
	while (n > 0 && u->left > 0) {
		n = read_next(u);
		done += n > 0 ? n : 0;
	}
	mutex_unlock(&lock);
	return done ? done : n;
}

struct log_state
log_state(void)
{
	struct log_state s;

	mutex_lock(&lock);
	s = state();
	mutex_unlock(&lock);
	return s;
}
