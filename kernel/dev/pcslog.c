/*
 * The log of pcs: samples become records, records fill buffers.
 *
 * The buffers are a ring that samplers fill and a reader empties. Each counts
 * how many it has done: the difference is those that are full, and one of the
 * others is being filled. A sample that was asked for is one record; the others
 * are counted for their hart, and come as one record of each type at every
 * 100th clock of that hart. When there is no free buffer a record is lost, and
 * counted; what is counted for a hart stays so.
 *
 * A sampler waits for other samplers only. Nothing that a reader does keeps it
 * away, so none of that turns interrupts off.
 */
#include "pcslog.h"

#include <string.h>

#include "../clock.h"
#include "../proc/proc.h"
#include "../sample.h"

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

/* The registers: lock's, but d_smple is the samplers', all but rq. */
static struct DEVPC devpc;
static struct samp_cntl *const cntl = &devpc.d_smple;

/* An atomic, odd while a sampler has d_smple and: */
static unsigned int sequence;
static unsigned int filled;     /* buffers, since the open; an atomic */
static struct pcs_stat account; /* all but unread */
static struct {
	unsigned int clocks; /* since the last merged records */
	uint64_t count[MKERNELI + 1];
} merged[HART_MAX];

/* Of those who read or ask. It guards devpc and: */
static struct mutex lock = MUTEX("pcs", lock);
static struct buf bufs[MAX_BUFS]; /* that are full */
static unsigned int nbufs;        /* assigned to the device; an atomic */
static unsigned int emptied;      /* buffers, since the open; an atomic */
static size_t position;           /* how far the first full one is read */
static uint64_t hits_read;

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
acquire_slowly(void)
{
	for (unsigned int n = 0;
	     __atomic_fetch_or(&sequence, 1, __ATOMIC_ACQUIRE) & 1; n++)
		if (n >= SPINS)
			clock_nap();
}

/* For a sampler, SIE=0: whoever waits is on another hart than the one who has
 * it, who is done soon. */
static void
acquire(void)
{
	if (__atomic_fetch_or(&sequence, 1, __ATOMIC_ACQUIRE) & 1)
		acquire_slowly();
}

static void
release(void)
{
	__atomic_add_fetch(&sequence, 1, __ATOMIC_RELEASE);
}

/* The buffer being filled goes to the reader, with what it has. */
static void
hand_over(void)
{
	cntl->sbuf_hdr.h_unused = cntl->cursbuf->b_log.lb_wasted + NUMWASTE -
				  cntl->currptr;
	cntl->cursbuf->b_log.lb_buf_hdr = cntl->sbuf_hdr;
	cntl->sbuf_hdr.h_numlost = 0;
	cntl->fq = cntl->fq->av_forw;
	cntl->cursbuf = NULL;
	cntl->flag = NOT_FILLING;
	__atomic_store_n(&filled, filled + 1, __ATOMIC_RELEASE);
	sample_left = true;
}

/* The next buffer's beginning, NULL: none is free. */
static __attribute__((noinline)) void *
next_room(void)
{
	if (cntl->cursbuf)
		hand_over();
	if (filled - __atomic_load_n(&emptied, __ATOMIC_ACQUIRE) >= nbufs)
		return NULL;
	cntl->cursbuf = cntl->fq;
	cntl->currptr = (caddr_t)cntl->cursbuf->b_log.lb_data;
	cntl->flag = FILLING;
	return cntl->currptr;
}

/* Where a record of so many bytes goes; NULL: no buffer is free. What doesn't
 * fit into one buffer goes into the next. */
static void *
room(size_t size)
{
	if (cntl->cursbuf &&
	    cntl->currptr + size <= cntl->cursbuf->b_log.lb_wasted)
		return cntl->currptr;
	return next_room();
}

/* It's there. */
static void
append(size_t size)
{
	cntl->currptr += size;
	if (cntl->currptr == cntl->cursbuf->b_log.lb_wasted)
		hand_over();
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
record(const struct sample *s, const void *calls, size_t size)
{
	short *numlost = &cntl->sbuf_hdr.h_numlost;
	struct PSAMPLE *p = room(RECORD_SIZE + size);

	if (p == NULL) {
		account.lost++;
		*numlost += *numlost < SHORT_LIMIT;
		return;
	}
	p->type = types[s->mode].one;
	p->sspace = s->ipl << 4 | s->hart;
	p->pid = s->pid;
	p->pc = s->pc;
	if (size)
		memcpy(p + 1, calls, size);
	append(RECORD_SIZE + size);
	account.recorded++;
}

static __attribute__((noinline)) void
record_calls(const struct sample *s)
{
	_Alignas(8) char calls[STACK_BYTES(STACK_MAX)];

	record(s, calls, log_stack(s, (struct STKSAMPLE *)calls));
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
		append(RECORD_SIZE);
	}
}

void
log_count(const struct sample *s)
{
	const struct wish *w;

	acquire();
	account.seen++;
	w = __atomic_load_n(&wish, __ATOMIC_RELAXED);
	if (!wanted(w, s)) {
		merged[s->hart].count[(int)types[s->mode].many]++;
		account.pending++;
	} else if (w->kinds & PROF_STACK & PROF_MASK) {
		record_calls(s);
	} else {
		record(s, NULL, 0);
	}
	if (++merged[s->hart].clocks == MERGE_CLOCKS) {
		merged[s->hart].clocks = 0;
		record_merged(s->hart);
	}
	release();
}

bool
log_open(pid_t owner)
{
	bool free;

	mutex_lock(&lock);
	free = devpc.d_clock == NO_CLOCK;
	for (unsigned int i = 0; free && i < MAX_BUFS; i++)
		bufs[i].av_forw = &bufs[(i + 1) % MAX_BUFS];
	if (free) {
		devpc = (struct DEVPC){
		    .d_clock = KW11K_CLOCK,
		    .d_runpid = owner,
		    .d_smple = {.flag = NOT_FILLING, .rq = bufs, .fq = bufs},
		};
		account = (struct pcs_stat){.thrown = account.thrown};
		hits_read = 0;
		nbufs = DEF_BUFNO;
	}
	mutex_unlock(&lock);
	return free;
}

void
log_close(void)
{
	mutex_lock(&lock);
	sample_disarm(&pcs_profiler);
	account.thrown = account.recorded + account.merged + account.pending -
			 hits_read;
	account.pending = 0;
	hits_read = account.recorded + account.merged;
	memset(merged, 0, sizeof(merged));
	devpc = (struct DEVPC){.d_clock = NO_CLOCK};
	filled = emptied = nbufs = position = 0;
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
	if (cmd != PROF_STACK)
		sample_arm(&pcs_profiler);
	mutex_unlock(&lock);
}

void
log_end(void)
{
	mutex_lock(&lock);
	sample_disarm(&pcs_profiler);
	for (unsigned int i = 0; i < nharts; i++)
		record_merged(i);
	if (cntl->cursbuf)
		hand_over();
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
	return __atomic_load_n(&filled, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&emptied, __ATOMIC_RELAXED);
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

/* Only full buffers are put behind the first one meanwhile. */
ssize_t
log_read(struct uio *u)
{
	const struct LOGBUF *b;
	ssize_t n = 0;

	mutex_lock(&lock);
	b = &cntl->rq->b_log;
	if (log_full())
		n = uio_to(u, (const char *)b + position, BSIZE - position);
	if (n > 0) {
		hits_read += hits_in(b, position, position + n);
		position += n;
	}
	if (position == BSIZE) {
		position = 0;
		cntl->rq = cntl->rq->av_forw;
		__atomic_store_n(&emptied, emptied + 1, __ATOMIC_RELEASE);
	}
	mutex_unlock(&lock);
	return n;
}

struct log_state
log_state(void)
{
	struct log_state s;
	unsigned int seen;

	mutex_lock(&lock);
	do {
		seen = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
		if (seen & 1)
			clock_nap();
		s = (struct log_state){devpc, account, nbufs, filled - emptied};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seen & 1 ||
		 seen != __atomic_load_n(&sequence, __ATOMIC_RELAXED));
	s.account.unread = s.account.recorded + s.account.merged - hits_read;
	mutex_unlock(&lock);
	return s;
}
