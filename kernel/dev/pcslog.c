/*
 * The log of pcs: samples become records, records fill buffers.
 *
 * Each hart has a log of its own, as if it had a device to itself: so samplers
 * of different harts share nothing, and none waits for another. Its buffers are
 * a ring, which the hart's sampler fills and a reader empties. Each counts how
 * many it has done: the difference is those that are full, and one of the
 * others is being filled. A sample that was asked for is one record; the others
 * are counted, and come as one record of each type at every 100th clock of the
 * hart. When its log has no free buffer a record is lost, and counted; what is
 * counted stays so.
 *
 * The stream has the full buffers of all logs in the order in which they became
 * full. Nothing that a reader does keeps a sampler away, so none of that turns
 * interrupts off. docs/locks.md says why all this is right.
 */
#include "pcslog.h"

#include <string.h>

#include "../clock.h"
#include "../print.h"
#include "../proc/proc.h"
#include "../sample.h"
#include "../sampleclock.h"

#define MERGE_CLOCKS 100 /* of a hart, from merged records to the next */
#define SHORT_LIMIT  32767
#define SPINS        200 /* looks at the lock before each is a nap apart */

#define RECORD_SIZE sizeof(struct PSAMPLE) /* of both kinds */

_Static_assert(sizeof(struct MSAMPLE) == RECORD_SIZE, "record");
_Static_assert(sizeof(struct LOGBUF) == BSIZE, "LOGBUF");
_Static_assert(HART_MAX <= 16, "sspace has four bits for a hart");

/* The types of the records for a sample: of one hit, and of many. */
static const struct {
	char one, many;
} types[] = {
    [SAMPLE_USER] = {USER, MUSER},
    [SAMPLE_KERNEL] = {KERNEL, MKERNEL},
    [SAMPLE_KERNELI] = {KERNELI, MKERNELI},
    [SAMPLE_IDLE] = {.many = IDLE},
};

/* One hart's. */
static struct log {
	/* An atomic, odd while a sampler has the next five. A made-up sample
	 * may be taken on another hart than the one it's said to be of, so two
	 * samplers may want one log. */
	unsigned int sequence;
	unsigned int filled;     /* buffers, since the open; an atomic */
	struct samp_cntl smple;  /* but rq, which is the reader's */
	struct pcs_stat account; /* but for unread and thrown */
	unsigned int clocks;     /* since the last merged records */
	uint64_t merged[MKERNELI + 1];
	/* Under lock: */
	unsigned int emptied; /* buffers, since the open; an atomic */
	struct buf bufs[MAX_BUFS];
} * logs; /* one for each hart */

/* Of those who read or ask. It guards: */
static struct mutex lock = MUTEX("pcs", lock);
static struct DEVPC devpc;
static unsigned int nbufs;  /* of each log; an atomic */
static struct log *reading; /* a part of whose first full buffer.. */
static size_t position;     /* ..is read, so many bytes; 0: of none */
static uint64_t hits_read, thrown;
static struct skips skips; /* since the open, while hits are counted */

/* What was asked for, as samplers have it: while they look at one nothing of it
 * changes, but the other takes its place. What is read by way of a pointer is
 * as new as that. */
static struct wish {
	unsigned int kinds;
	pid_t group;
	struct pid_list list;
} wishes[2], *wish = wishes; /* an atomic */

/* Out of line, as the other rare halves are: each sample would save registers
 * for them. */
static __attribute__((noinline)) void
acquire_slowly(struct log *l)
{
	for (unsigned int n = 0;
	     __atomic_fetch_or(&l->sequence, 1, __ATOMIC_ACQUIRE) & 1; n++)
		if (n >= SPINS)
			clock_nap();
}

/* For a sampler, SIE=0: whoever waits is on another hart than the one who has
 * it, who is done soon. */
static void
acquire(struct log *l)
{
	if (__atomic_fetch_or(&l->sequence, 1, __ATOMIC_ACQUIRE) & 1)
		acquire_slowly(l);
}

static void
release(struct log *l)
{
	__atomic_add_fetch(&l->sequence, 1, __ATOMIC_RELEASE);
}

static bool
is_full(const struct log *l)
{
	return __atomic_load_n(&l->filled, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&l->emptied, __ATOMIC_RELAXED);
}

/* The buffer being filled goes to the reader, with what it has. */
static void
hand_over(struct log *l)
{
	struct samp_cntl *c = &l->smple;
	struct buf *b = c->cursbuf;

	c->sbuf_hdr.h_unused = b->b_log.lb_wasted + NUMWASTE - c->currptr;
	b->b_log.lb_buf_hdr = c->sbuf_hdr;
	b->b_time = rdtime();
	c->sbuf_hdr.h_numlost = 0;
	c->fq = c->fq->av_forw;
	c->cursbuf = NULL;
	c->flag = NOT_FILLING;
	__atomic_store_n(&l->filled, l->filled + 1, __ATOMIC_RELEASE);
	sample_defer();
}

/* The next buffer's beginning, NULL: none is free. */
static __attribute__((noinline)) void *
next_room(struct log *l)
{
	struct samp_cntl *c = &l->smple;

	if (c->cursbuf)
		hand_over(l);
	if (l->filled - __atomic_load_n(&l->emptied, __ATOMIC_ACQUIRE) >=
	    __atomic_load_n(&nbufs, __ATOMIC_RELAXED))
		return NULL;
	c->cursbuf = c->fq;
	c->currptr = (caddr_t)c->cursbuf->b_log.lb_data;
	c->flag = FILLING;
	return c->currptr;
}

/* Where a record of so many bytes goes; NULL: no buffer is free. What doesn't
 * fit into one buffer goes into the next. */
static void *
room(struct log *l, size_t size)
{
	struct samp_cntl *c = &l->smple;

	if (c->cursbuf && c->currptr + size <= c->cursbuf->b_log.lb_wasted)
		return c->currptr;
	return next_room(l);
}

/* It's there. */
static void
append(struct log *l, size_t size)
{
	struct samp_cntl *c = &l->smple;

	c->currptr += size;
	if (c->currptr == c->cursbuf->b_log.lb_wasted)
		hand_over(l);
}

/* How many hits a record is of, and bytes long. */
static unsigned int
measure(const void *record, size_t *size)
{
	const struct PSAMPLE *p = record;

	*size = RECORD_SIZE;
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

/* Did anybody ask for this sample? */
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

/* An asked-for sample becomes this, with so many bytes behind it for the calls
 * that led to it. */
static inline void
record(struct log *l, const struct sample *s, const void *calls, size_t size)
{
	short *numlost = &l->smple.sbuf_hdr.h_numlost;
	struct PSAMPLE *p = room(l, RECORD_SIZE + size);

	if (p == NULL) {
		l->account.lost++;
		*numlost += *numlost < SHORT_LIMIT;
		return;
	}
	p->type = types[s->mode].one;
	p->sspace = s->ipl << 4 | s->hart;
	p->pid = s->pid;
	p->pc = s->pc;
	if (size)
		memcpy(p + 1, calls, size);
	append(l, RECORD_SIZE + size);
	l->account.recorded++;
}

static __attribute__((noinline)) void
record_calls(struct log *l, const struct sample *s)
{
	_Alignas(8) char calls[STACK_BYTES(STACK_MAX)];

	record(l, s, calls, log_stack(s, (struct STKSAMPLE *)calls));
}

/* Record what was merged for a hart, as far as there is room. */
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
		append(l, RECORD_SIZE);
	}
}

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
	} else if (w->kinds & PROF_STACK & PROF_MASK) {
		record_calls(l, s);
	} else {
		record(l, s, NULL, 0);
	}
	if (++l->clocks == MERGE_CLOCKS) {
		l->clocks = 0;
		record_merged(l);
	}
	release(l);
}

/* A hart's log has nothing any more, and no buffers; its account stands. */
static void
clear(struct log *l)
{
	l->filled = l->emptied = l->clocks = 0;
	l->smple = (struct samp_cntl){
	    .flag = NOT_FILLING,
	    .rq = l->bufs,
	    .fq = l->bufs,
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
	for (struct log *l = logs; l < logs + nharts; l++) {
		for (unsigned int i = 0; i < MAX_BUFS; i++)
			l->bufs[i].av_forw = &l->bufs[(i + 1) % MAX_BUFS];
		clear(l);
	}
}

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

/* Add what a hart's log has at one moment. */
static void
add_log(struct log_state *s, const struct log *l)
{
	struct pcs_stat *sum = &s->account, a;
	unsigned int sequence, filled;
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

/* The lock is held. */
static struct log_state
state(void)
{
	struct log_state s = {.devpc = devpc, .buffers = nbufs};

	for (const struct log *l = logs; l < logs + nharts; l++)
		add_log(&s, l);
	s.account.unread = s.account.recorded + s.account.merged - hits_read;
	s.account.thrown = thrown;
	s.account.skipped = skips_count(&skips);
	return s;
}

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
	devpc = (struct DEVPC){.d_clock = NO_CLOCK};
	nbufs = position = 0;
	mutex_unlock(&lock);
}

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
	*next = (struct wish){devpc.d_flag, devpc.d_group, devpc.d_list};
	__atomic_store_n(&wish, next, __ATOMIC_SEQ_CST);
	sample_settle(); /* nobody has the other one any more */
	if (cmd != PROF_STACK) {
		skips_switch(&skips, true);
		sample_arm(&pcs_profiler);
	}
	mutex_unlock(&lock);
}

void
log_end(void)
{
	unsigned long sie;

	mutex_lock(&lock);
	sample_disarm(&pcs_profiler);
	skips_switch(&skips, false);
	/* As a sampler's, it goes to one hart. */
	sie = level_raise(LEVEL1_MASK);
	for (struct log *l = logs; l < logs + nharts; l++) {
		record_merged(l);
		if (l->smple.cursbuf)
			hand_over(l);
	}
	level_lower(sie);
	mutex_unlock(&lock);
}

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

bool
log_full(void)
{
	for (const struct log *l = logs; l < logs + nharts; l++)
		if (is_full(l))
			return true;
	return false;
}

/* How many hits the records are of that end in these bytes of b. */
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

/* The log whose first full buffer is the next of the stream; NULL: none has
 * one. One that is full only now may have become so before another that has
 * been read. */
static struct log *
first_full(void)
{
	struct log *first = NULL;

	if (position > 0)
		return reading;
	for (struct log *l = logs; l < logs + nharts; l++)
		if (is_full(l) &&
		    (!first || l->smple.rq->b_time < first->smple.rq->b_time))
			first = l;
	return first;
}

/* Read of a log's first full buffer, to its end at most. */
static ssize_t
read_buffer(struct log *l, struct uio *u)
{
	const struct LOGBUF *b = &l->smple.rq->b_log;
	ssize_t n = uio_to(u, (const char *)b + position, BSIZE - position);

	if (n < 0)
		return n;
	hits_read += hits_in(b, position, position + n);
	position += n;
	reading = l;
	if (position == BSIZE) {
		position = 0;
		l->smple.rq = l->smple.rq->av_forw;
		__atomic_store_n(&l->emptied, l->emptied + 1, __ATOMIC_RELEASE);
	}
	return n;
}

ssize_t
log_read(struct uio *u)
{
	struct log *l;
	ssize_t n = 0, done = 0;

	mutex_lock(&lock);
	while (n >= 0 && u->left > 0 && (l = first_full()) != NULL) {
		n = read_buffer(l, u);
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
