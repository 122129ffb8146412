/* The records of pcs: see pcsread.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "pcsread.h"

#define SHORT_LIMIT 32767
#define HEADER      sizeof(struct LOGBUF_HDR)
#define UNIT        8 /* bytes: records are multiples of it */

/* What is at the current place can't be. */
static _Noreturn void CMD_PRINTF(2, 3)
    corrupt(const struct pcs_walk *w, const char *format, ...)
{
	va_list args;
	char *what;

	va_start(args, format);
	what = cmd_text_of(format, args);
	va_end(args);
	cmd_error("%s: byte %zu: %s", w->name, w->at, what);
	exit(cmd_status);
}

uint64_t
pcs_hits(const struct pcs_walk *w, int hart, int type)
{
	uint64_t hits = 0;

	for (int h = 0; h < PCS_HARTS; h++)
		for (int t = 0; t < PCS_TYPES; t++)
			if ((hart == PCS_ALL || hart == h) &&
			    (type == PCS_ALL || type == t))
				hits += w->hits[h][t];
	return hits;
}

unsigned int
pcs_sum(const struct LOGBUF *b)
{
	typedef unsigned int __attribute__((may_alias)) word;
	const word *w = (const word *)b;
	uint64_t once = 0, sum = 0;

#pragma GCC unroll 8
	for (size_t i = 0; i < BSIZE / sizeof(*w); i++) {
		once += w[i];
		sum += once;
	}
	return sum % SEAL_MODULUS;
}

bool
pcs_seal(struct SEAL_RECORD *seal, const void *logbuf)
{
	struct LOGBUF copy;
	struct LOGBUF_HDR h;
	unsigned int sum;
	size_t at;

	memcpy(&h, logbuf, sizeof(h));
	if (h.h_unused > BSIZE - sizeof(h) - sizeof(*seal) ||
	    (BSIZE - sizeof(h) - h.h_unused) % UNIT != 0)
		return false;
	at = BSIZE - h.h_unused - sizeof(*seal);
	if (((const char *)logbuf)[at] != SEAL)
		return false;
	memcpy(&copy, logbuf, BSIZE);
	memcpy(seal, (char *)&copy + at, sizeof(*seal));
	sum = seal->sum;
	seal->sum = 0;
	memcpy((char *)&copy + at, seal, sizeof(*seal));
	return pcs_sum(&copy) == sum;
}

void
pcs_buffer(struct pcs_walk *w, const void *logbuf)
{
	const struct LOGBUF_HDR *h = logbuf;

	if (w->stopped)
		corrupt(w, "data after STOP");
	if (h->h_unused > BSIZE - HEADER ||
	    (BSIZE - HEADER - h->h_unused) % UNIT != 0)
		corrupt(w, "invalid header: it says that %u bytes are unused",
			h->h_unused);
	if (h->h_numlost < 0)
		corrupt(w, "invalid header: its number of lost records is %d",
			h->h_numlost);
	w->lost += h->h_numlost;
	w->lost_more |= h->h_numlost == SHORT_LIMIT;
	w->buffers++;
	w->next = (const char *)logbuf + HEADER;
	w->left = BSIZE - HEADER - h->h_unused;
	w->before = 0;
	w->context = 0;
	w->at += HEADER;
}

/* The current record as one of this size. */
static const void *
whole(const struct pcs_walk *w, size_t size)
{
	if (size > w->left)
		corrupt(w, "the record extends beyond its buffer");
	return w->next;
}

static size_t
see_sample(struct pcs_walk *w)
{
	const struct PSAMPLE *s = whole(w, sizeof(*s));

	if (s->pid < 0)
		corrupt(w, "invalid process ID %d", s->pid);
	w->hits[pcs_hart(s)][(int)s->type]++;
	w->total++;
	return sizeof(*s);
}

static size_t
see_count(struct pcs_walk *w)
{
	const struct MSAMPLE *m = whole(w, sizeof(*m));

	if (m->count <= 0)
		corrupt(w, "invalid count %d", m->count);
	if ((unsigned char)m->cfill >= PCS_HARTS)
		corrupt(w, "invalid hart %d", m->cfill);
	w->hits[(int)m->cfill][(int)m->type] += m->count;
	w->total += m->count;
	return sizeof(*m);
}

static size_t
see_stack(const struct pcs_walk *w)
{
	const struct STKSAMPLE *s = whole(w, sizeof(*s));

	if (!pcs_is_sample(w->before))
		corrupt(w, "a stack without a sample");
	if (s->nkernel > s->n)
		corrupt(w, "invalid stack: %d frames, %d of them in the kernel",
			s->n, s->nkernel);
	if (STACK_USER(s->cut) > STACK_FRAMELESS ||
	    STACK_KERNEL(s->cut) > STACK_FRAMELESS)
		corrupt(w, "unknown reason for a truncated stack: %#x", s->cut);
	whole(w, STACK_BYTES(s->n));
	return STACK_BYTES(s->n);
}

/* One of PROF_EVENTS, which tells its own size. */
static size_t
see_event(struct pcs_walk *w)
{
	static const unsigned char least[] = {
	    [MOMENT] = sizeof(struct MOMENT_RECORD),
	    [AT] = sizeof(struct AT_RECORD),
	    [BORN] = sizeof(struct BORN_RECORD),
	    [EXECED] = sizeof(struct EXEC_RECORD),
	    [MAPPED] = sizeof(struct MAP_RECORD) + 8,
	    [EXITED] = sizeof(struct EXIT_RECORD),
	    [CLOCKED] = sizeof(struct CLOCK_RECORD),
	    [FILED] = sizeof(struct FILE_RECORD) + 8,
	    [ACCOUNT] = offsetof(struct ACCOUNT_RECORD, free), /* was all */
	    [SEAL] = sizeof(struct SEAL_RECORD),
	};
	unsigned char type = *w->next;
	size_t size = (unsigned char)w->next[1] * 8;

	if (size < least[type])
		corrupt(w, "record too short: %zu bytes", size);
	whole(w, size);
	if ((type == MAPPED || type == FILED) && w->next[size - 1] != '\0')
		corrupt(w, "unterminated path");
	if (type == AT)
		w->context = ((const struct AT_RECORD *)w->next)->context;
	return size;
}

static size_t
see_time(const struct pcs_walk *w, bool right)
{
	if (!right)
		corrupt(w, "misplaced START or STOP");
	whole(w, sizeof(struct SSAMPLE));
	return sizeof(struct SSAMPLE);
}

/* Look at the current record; gives its size. */
static size_t
see(struct pcs_walk *w)
{
	int type = (unsigned char)*w->next;

	switch (type) {
	case KERNEL:
	case USER:
	case KERNELI:
		return see_sample(w);
	case IDLE:
	case MKERNEL:
	case MUSER:
	case MKERNELI:
		return see_count(w);
	case START:
		return see_time(w, w->buffers == 1 && w->before == 0);
	case STOP:
		w->stopped = true;
		return see_time(w, w->left == UNIT ||
				       w->left ==
					   UNIT + sizeof(struct SEAL_RECORD));
	case IOCTL:
		whole(w, sizeof(struct ISAMPLE));
		return sizeof(struct ISAMPLE);
	case STACK:
		return see_stack(w);
	case MOMENT ... SEAL:
		return see_event(w);
	default:
		corrupt(w, "unknown record type %d", type);
	}
}

const void *
pcs_next(struct pcs_walk *w)
{
	const char *record = w->next;
	size_t size;

	if (w->left == 0) {
		/* To the end of the buffer. */
		w->at += (BSIZE - w->at % BSIZE) % BSIZE;
		return NULL;
	}
	size = see(w);
	w->before = (unsigned char)*record;
	w->next += size;
	w->at += size;
	w->left -= size;
	return record;
}
