/*
 * What the tests of pcs's call stacks share: samples with their stacks, of
 * what this process does meanwhile.
 */
#ifndef STACKS_H
#define STACKS_H

#include "pcs.h"

#define NO_STACK ((size_t)-1)

/* One sample, and the addresses after it. */
struct seen {
	struct PSAMPLE p;
	size_t n, nkernel; /* n: or NO_STACK */
	int cut;
	unsigned int pc[STACK_MAX];
};

static struct seen seen[4000];
static size_t nseen;
static uint64_t stray; /* bytes that can't be */

static bool
single_type(int type)
{
	return type == USER || type == KERNEL || type == KERNELI;
}

static void
see_stack(const struct STKSAMPLE *k, struct seen *s)
{
	if (!s || k->n > STACK_MAX || k->nkernel > k->n) {
		stray++;
		return;
	}
	s->n = k->n;
	s->nkernel = k->nkernel;
	s->cut = k->cut;
	memcpy(s->pc, k->pc, k->n * sizeof(k->pc[0]));
	stray += k->n % 2 == 0 && k->pc[k->n] != 0;
}

static struct seen *
see_sample(const struct PSAMPLE *p)
{
	struct seen *s = &seen[nseen];

	if (nseen < sizeof(seen) / sizeof(seen[0]) - 1)
		nseen++;
	*s = (struct seen){.p = *p, .n = NO_STACK};
	return s;
}

/* All records of a buffer; how many hits they are of. */
static inline uint64_t
see_buffer(const struct LOGBUF *b)
{
	const char *at = (const char *)b->lb_data;
	const char *end = (const char *)b + BSIZE - b->lb_buf_hdr.h_unused;
	struct seen *last = NULL;
	uint64_t hits = 0;

	while (at < end) {
		const struct PSAMPLE *p = (const struct PSAMPLE *)at;
		bool stack = p->type == STACK;

		at += stack ? STACK_BYTES(((const struct STKSAMPLE *)p)->n) : 8;
		if (at > end)
			break;
		hits += stack ? 0 : hits_in(p);
		if (stack)
			see_stack((const struct STKSAMPLE *)p, last);
		else if (!single_type(p->type))
			stray += !merged_type(p->type);
		last = single_type(p->type) ? see_sample(p) : NULL;
	}
	stray += at != end;
	return hits;
}

/* Begin to record all, with stacks, at so many hertz. */
static inline int
stacks_begin(unsigned int hz)
{
	int fd;

	nseen = 0;
	ctl(PROFCLOCK, "hz %u", hz);
	fd = pcs_open();
	ioctl(fd, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	ioctl(fd, PROF_STACK, NULL);
	ioctl(fd, PROF_ALL, NULL);
	return fd;
}

/* End it, and see what was recorded. */
static inline void
stacks_end(int fd)
{
	struct LOGBUF b;

	do {
		ioctl(fd, PCS_END);
		while (buffer_read(fd, &b) == BSIZE)
			see_buffer(&b);
	} while (account_of(fd).unread + account_of(fd).pending > 0);
	close(fd);
	ctl(PROFCLOCK, "hz 100");
}

#endif
