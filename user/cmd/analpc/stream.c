/* The stream of getpc: see <sys/pcs.h>. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analpc.h"

#define SHORT_LIMIT 32767
#define HEADER      sizeof(struct LOGBUF_HDR)
#define UNIT        8 /* bytes: records are multiples of it */
#define LOW_BITS    0xf
#define MESSAGE_MAX 128

/* Where we are in a stream. */
struct walk {
	struct profile *p;
	const char *path;
	const char *data, *record; /* all of it; the current record */
	size_t left;               /* of the buffer, from record on */
	int before; /* type of the record before, in the buffer */
	size_t samples_room, requests_room;
};

/* What is at the current record can't be. */
static _Noreturn void CMD_PRINTF(2, 3)
    corrupt(const struct walk *w, const char *format, ...)
{
	char what[MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	cmd_error("%s: byte %zu: %s", w->path, (size_t)(w->record - w->data),
		  what);
	exit(cmd_status);
}

/* The current record as one of this size. */
static const void *
whole(const struct walk *w, size_t size)
{
	if (size > w->left)
		corrupt(w, "a record beyond the end of its buffer");
	return w->record;
}

static size_t
add_sample(struct walk *w)
{
	const struct PSAMPLE *s = whole(w, sizeof(*s));
	unsigned char sspace = s->sspace;
	struct profile *p = w->p;

	if (s->pid < 0)
		corrupt(w, "no process has the id %d", s->pid);
	if (p->samples_count == w->samples_room)
		p->samples = cmd_grow(p->samples, &w->samples_room, sizeof(*s));
	p->samples[p->samples_count++] = *s;
	p->total++;
	p->of_type[(int)s->type]++;
	p->of_hart[sspace & LOW_BITS]++;
	if (s->type == USER) {
		p->of_pid[s->pid].user++;
	} else {
		p->of_pid[s->pid].kernel++;
		p->of_level[sspace >> 4]++;
	}
	return sizeof(*s);
}

static size_t
add_count(struct walk *w)
{
	const struct MSAMPLE *m = whole(w, sizeof(*m));
	struct profile *p = w->p;

	if (m->count <= 0)
		corrupt(w, "a count of %d", m->count);
	if ((unsigned char)m->cfill >= HARTS)
		corrupt(w, "no hart has the number %d", m->cfill);
	p->total += m->count;
	p->of_type[(int)m->type] += m->count;
	p->of_hart[(int)m->cfill] += m->count;
	if (m->type == IDLE)
		p->idle_of[(int)m->cfill] += m->count;
	return sizeof(*m);
}

static size_t
add_request(struct walk *w)
{
	const struct ISAMPLE *r = whole(w, sizeof(*r));
	struct profile *p = w->p;

	if (p->requests_count == w->requests_room)
		p->requests = cmd_grow(p->requests, &w->requests_room,
				       sizeof(*r));
	p->requests[p->requests_count++] = *r;
	return sizeof(*r);
}

/* Which calls led to a sample is not told here. */
static size_t
skip_stack(struct walk *w)
{
	const struct STKSAMPLE *s = whole(w, sizeof(*s));

	if (w->before != USER && w->before != KERNEL && w->before != KERNELI)
		corrupt(w, "a stack without a sample");
	if (s->nkernel < 0 || s->nkernel > s->n)
		corrupt(w, "a stack of %d, %d of them in the kernel", s->n,
			s->nkernel);
	whole(w, STACK_BYTES(s->n));
	return STACK_BYTES(s->n);
}

static size_t
add_time(struct walk *w, unsigned int *time, bool right)
{
	const struct SSAMPLE *s = whole(w, sizeof(*s));

	if (!right)
		corrupt(w, "START or STOP in the midst");
	*time = s->stime;
	return sizeof(*s);
}

/* Take the current record; gives its size. */
static size_t
add(struct walk *w)
{
	int type = (unsigned char)*w->record;

	switch (type) {
	case KERNEL:
	case USER:
	case KERNELI:
		return add_sample(w);
	case IDLE:
	case MKERNEL:
	case MUSER:
	case MKERNELI:
		return add_count(w);
	case START:
		return add_time(w, &w->p->start, w->record == w->data + HEADER);
	case STOP:
		w->p->stopped = true;
		return add_time(w, &w->p->stop, w->left == UNIT);
	case IOCTL:
		return add_request(w);
	case STACK:
		return skip_stack(w);
	default:
		corrupt(w, "no type of record: %d", type);
	}
}

static void
add_buffer(struct walk *w, const char *buffer)
{
	const struct LOGBUF_HDR *h = (const struct LOGBUF_HDR *)buffer;

	w->record = buffer;
	if (w->p->stopped)
		corrupt(w, "more after STOP");
	if (h->h_unused > BSIZE - HEADER)
		corrupt(w, "%u bytes unused", h->h_unused);
	if ((BSIZE - HEADER - h->h_unused) % UNIT != 0)
		corrupt(w, "%u bytes unused", h->h_unused);
	if (h->h_numlost < 0)
		corrupt(w, "%d records lost", h->h_numlost);
	w->p->lost += h->h_numlost;
	w->p->lost_more |= h->h_numlost == SHORT_LIMIT;
	w->left = BSIZE - HEADER - h->h_unused;
	w->before = 0;
	for (w->record += HEADER; w->left > 0;) {
		int type = *w->record;
		size_t size = add(w);

		w->record += size;
		w->left -= size;
		w->before = type;
	}
}

/* Does it begin as getpc begins one? */
static bool
is_stream(const char *data, size_t size)
{
	const struct LOGBUF_HDR *h = (const struct LOGBUF_HDR *)data;

	return size > HEADER && data[HEADER] == START &&
	       h->h_unused <= BSIZE - HEADER - sizeof(struct SSAMPLE);
}

void
stream_load(struct profile *p, const char *path)
{
	const char *name = cmd_title(path);
	struct walk w = {.p = p, .path = name};
	int fd = cmd_open(path);
	size_t size;

	if (fd < 0)
		exit(cmd_status);
	w.data = cmd_slurp(fd, name, &size);
	if (!w.data)
		exit(cmd_status);
	if (!is_stream(w.data, size)) {
		cmd_error("%s: not what getpc stores", name);
		exit(cmd_status);
	}
	for (size_t at = 0; size - at >= BSIZE; at += BSIZE)
		add_buffer(&w, w.data + at);
	if (size % BSIZE != 0)
		cmd_error("%s: cut off within a buffer", name);
	else if (!p->stopped)
		cmd_error("%s: cut off: no STOP", name);
}
