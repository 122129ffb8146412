/*
 * The log of pcs: samples become records, records fill buffers.
 *
 * A buffer is on the free queue, or the one being filled, or on the ready
 * queue, whose first one is read. A sample that was asked for is one record;
 * the others are counted for their hart, and come as one record of each type
 * at every 100th clock of that hart. When there is no free buffer a record is
 * lost, and counted; what is counted for a hart stays so.
 */
#include "pcslog.h"

#include <stddef.h>
#include <string.h>

#include "../clock.h"
#include "../sample.h"
#include "../thread.h"

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

static unsigned int locked; /* an atomic; guards what follows */
struct DEVPC devpc;
static struct pcs_stat account;
static struct buf bufs[MAX_BUFS];
static unsigned int nbufs; /* of them, those assigned to the device */
static struct {
	unsigned int clocks; /* since the last merged records */
	uint64_t count[MKERNELI + 1];
} merged[HART_MAX];

/* Out of line, as the other rare halves are: each sample would save registers
 * for them. */
static __attribute__((noinline)) void
acquire_slowly(void)
{
	for (unsigned int n = 0;
	     __atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE); n++)
		if (n >= SPINS)
			clock_nap();
}

/*
 * With SIE=0. Whoever waits for it is on another hart than its holder, who is
 * done soon. Not a spinlock: those only raise the level, and the sampler would
 * come.
 */
static void
acquire(void)
{
	if (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		acquire_slowly();
}

static void
release(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

unsigned long
log_lock(void)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);

	acquire();
	return sstatus;
}

void
log_unlock(unsigned long sstatus)
{
	release();
	csr_set(sstatus, sstatus & SSTATUS_SIE);
}

static void
put(struct buf **queue, struct buf *b)
{
	while (*queue)
		queue = &(*queue)->av_forw;
	b->av_forw = NULL;
	*queue = b;
}

static struct buf *
take(struct buf **queue)
{
	struct buf *b = *queue;

	if (b)
		*queue = b->av_forw;
	return b;
}

/* The buffer being filled goes to the reader, with what it has. */
static void
hand_over(struct samp_cntl *c)
{
	c->sbuf_hdr.h_unused = c->cursbuf->b_log.lb_wasted + NUMWASTE -
			       c->currptr;
	c->cursbuf->b_log.lb_buf_hdr = c->sbuf_hdr;
	c->sbuf_hdr.h_numlost = 0;
	put(&c->rq, c->cursbuf);
	sample_left = true;
	c->cursbuf = NULL;
	c->flag = NOT_FILLING;
}

/* The next buffer's beginning, NULL: none is free. */
static __attribute__((noinline)) void *
next_room(struct samp_cntl *c)
{
	if (c->cursbuf)
		hand_over(c);
	c->cursbuf = take(&c->fq);
	if (!c->cursbuf)
		return NULL;
	c->currptr = (caddr_t)c->cursbuf->b_log.lb_data;
	c->flag = FILLING;
	return c->currptr;
}

/* Where a record of so many bytes goes; NULL: no buffer is free. What doesn't
 * fit into one buffer goes into the next. */
static void *
room(size_t size)
{
	struct samp_cntl *c = &devpc.d_smple;

	if (c->cursbuf && c->currptr + size <= c->cursbuf->b_log.lb_wasted)
		return c->currptr;
	return next_room(c);
}

/* It's there, and is of so many hits. */
static void
append(size_t size, unsigned int hits)
{
	struct samp_cntl *c = &devpc.d_smple;

	c->currptr += size;
	account.unread += hits;
	if (c->currptr == c->cursbuf->b_log.lb_wasted)
		hand_over(c);
}

/* How many hits a record is of. */
static unsigned int
hits_of(const struct PSAMPLE *p)
{
	if (p->type == USER || p->type == KERNEL || p->type == KERNELI)
		return 1;
	if (p->type == STACK)
		return 0;
	return ((const struct MSAMPLE *)p)->count;
}

static size_t
size_of(const struct PSAMPLE *p)
{
	if (p->type == STACK)
		return STACK_BYTES(((const struct STKSAMPLE *)p)->n);
	return RECORD_SIZE;
}

static bool
listed(pid_t pid)
{
	for (int i = 0; i < devpc.d_list.p_count; i++)
		if (devpc.d_list.p_list[i] == pid)
			return true;
	return false;
}

/* Did anybody ask for this sample? */
static bool
wanted(const struct sample *s)
{
	unsigned int kinds = devpc.d_flag;

	if (s->mode == SAMPLE_IDLE)
		return false;
	if (kinds & PROF_ALL & PROF_MASK)
		return true;
	if (s->mode != SAMPLE_USER)
		return kinds & PROF_KERNEL & PROF_MASK;
	return (kinds & PROF_LIST & PROF_MASK && listed(s->pid)) ||
	       (kinds & PROF_GROUP & PROF_MASK && s->pgrp == devpc.d_group);
}

/* What an asked-for sample becomes, with so many bytes behind it for the calls
 * that led to it: until the lock is given back nobody reads it. NULL: lost. */
static inline struct PSAMPLE *
record(const struct sample *s, size_t size)
{
	short *numlost = &devpc.d_smple.sbuf_hdr.h_numlost;
	struct PSAMPLE *p = room(RECORD_SIZE + size);

	if (p == NULL) {
		account.lost++;
		*numlost += *numlost < SHORT_LIMIT;
		return NULL;
	}
	p->type = types[s->mode].one;
	p->sspace = s->ipl << 4 | s->hart;
	p->pid = s->pid;
	p->pc = s->pc;
	append(RECORD_SIZE + size, 1);
	account.recorded++;
	return p;
}

static __attribute__((noinline)) void
record_calls(const struct sample *s)
{
	_Alignas(8) char stack[STACK_BYTES(STACK_MAX)];
	size_t size = log_stack(s, (struct STKSAMPLE *)stack);
	struct PSAMPLE *p = record(s, size);

	if (p != NULL)
		memcpy(p + 1, stack, size);
}

static void
merge(const struct sample *s)
{
	merged[s->hart].count[(int)types[s->mode].many]++;
	account.pending++;
}

/* Record what was merged for a hart, as far as there is room. */
static void
record_merged(unsigned int hart)
{
	for (int type = IDLE; type <= MKERNELI; type++) {
		uint64_t *count = &merged[hart].count[type];
		struct MSAMPLE *m = *count ? room(RECORD_SIZE) : NULL;

		if (m == NULL)
			continue;
		*m = (struct MSAMPLE){
		    .type = type,
		    .cfill = hart,
		    .count = *count < SHORT_LIMIT ? *count : SHORT_LIMIT,
		};
		*count -= m->count;
		account.pending -= m->count;
		account.merged += m->count;
		append(RECORD_SIZE, m->count);
	}
}

void
log_count(const struct sample *s)
{
	acquire();
	account.seen++;
	if (!wanted(s))
		merge(s);
	else if (devpc.d_flag & PROF_STACK & PROF_MASK)
		record_calls(s);
	else
		record(s, 0);
	if (++merged[s->hart].clocks == MERGE_CLOCKS) {
		merged[s->hart].clocks = 0;
		record_merged(s->hart);
	}
	release();
}

void
log_flush(void)
{
	struct samp_cntl *c = &devpc.d_smple;
	unsigned long sstatus = log_lock();

	for (unsigned int i = 0; i < nharts; i++)
		record_merged(i);
	if (c->cursbuf)
		hand_over(c);
	log_unlock(sstatus);
}

bool
log_open(pid_t owner)
{
	unsigned long sstatus = log_lock();
	bool free = devpc.d_clock == NO_CLOCK;

	if (free) {
		devpc = (struct DEVPC){
		    .d_clock = KW11K_CLOCK,
		    .d_runpid = owner,
		    .d_smple.flag = NOT_FILLING,
		};
		account = (struct pcs_stat){.thrown = account.thrown};
	}
	log_unlock(sstatus);
	return free && log_grow(DEF_BUFNO);
}

void
log_close(void)
{
	unsigned long sstatus;

	memset(merged, 0, sizeof(merged)); /* nobody counts any more */
	sstatus = log_lock();
	devpc = (struct DEVPC){.d_clock = NO_CLOCK};
	account.thrown = account.unread + account.pending;
	account.unread = account.pending = 0;
	nbufs = 0;
	log_unlock(sstatus);
}

bool
log_grow(unsigned long more)
{
	unsigned long sstatus = log_lock();
	bool good = more <= MAX_BUFS - nbufs;

	while (good && more--)
		put(&devpc.d_smple.fq, &bufs[nbufs++]);
	log_unlock(sstatus);
	return good;
}

const struct LOGBUF *
log_first(void)
{
	unsigned long sstatus = log_lock();
	struct buf *b = devpc.d_smple.rq;

	log_unlock(sstatus);
	return b ? &b->b_log : NULL;
}

/* Only full buffers are put behind the first one meanwhile. */
void
log_read(size_t from, size_t to)
{
	const struct LOGBUF *b = log_first();
	struct samp_cntl *c = &devpc.d_smple;
	size_t at = offsetof(struct LOGBUF, lb_data);
	unsigned long sstatus;
	uint64_t hits = 0;

	while (at + b->lb_buf_hdr.h_unused < BSIZE) {
		const void *p = (const char *)b + at;

		at += size_of(p);
		if (from < at && at <= to)
			hits += hits_of(p);
	}
	sstatus = log_lock();
	account.unread -= hits;
	if (to == BSIZE)
		put(&c->fq, take(&c->rq));
	log_unlock(sstatus);
}

struct log_state
log_state(void)
{
	unsigned long sstatus = log_lock();
	struct log_state s = {
	    .devpc = devpc,
	    .account = account,
	    .buffers = nbufs,
	};

	for (struct buf *b = devpc.d_smple.rq; b; b = b->av_forw)
		s.full++;
	for (struct buf *b = devpc.d_smple.fq; b; b = b->av_forw)
		s.empty++;
	log_unlock(sstatus);
	return s;
}
