/* The stream of getpc: see <sys/pcs.h>. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analpc.h"

#define HEADER sizeof(struct LOGBUF_HDR)

static void
add_sample(struct profile *p, const struct PSAMPLE *s)
{
	if (p->samples_count == p->samples_room)
		p->samples = cmd_grow(p->samples, &p->samples_room,
				      sizeof(*p->samples));
	p->samples[p->samples_count++] = (struct hit){
	    *s, pcs_whose(s->pid, p->walk.context)};
	if (s->type == USER) {
		p->of_pid[s->pid].user++;
	} else {
		p->of_pid[s->pid].kernel++;
		p->of_level[(unsigned char)s->sspace >> 4]++;
	}
}

static void
add_request(struct profile *p, const struct ISAMPLE *r)
{
	if (p->requests_count == p->requests_room)
		p->requests = cmd_grow(p->requests, &p->requests_room,
				       sizeof(*r));
	p->requests[p->requests_count++] = *r;
}

/* Of the calls that led to a sample it is only told whether they are all. */
static void
add_stack(struct profile *p, const struct STKSAMPLE *s)
{
	p->stacks++;
	p->stacks_cut += s->cut != 0;
}

static void
add_account(struct profile *p, const struct ACCOUNT_RECORD *a)
{
	p->has_account = true;
	memcpy(&p->account, a, offsetof(struct ACCOUNT_RECORD, free));
}

static void
add(struct profile *p, const void *record)
{
	int type = *(const char *)record;

	pcs_tell(record);
	if (type == STACK)
		add_stack(p, record);
	else if (pcs_is_sample(type))
		add_sample(p, record);
	else if (type == START)
		p->start = ((const struct SSAMPLE *)record)->stime;
	else if (type == STOP)
		p->stop = ((const struct SSAMPLE *)record)->stime;
	else if (type == IOCTL)
		add_request(p, record);
	else if (type == ACCOUNT)
		add_account(p, record);
}

/* Does it begin as getpc begins one? */
static bool
is_stream(const char *data, size_t size)
{
	const struct LOGBUF_HDR *h = (const struct LOGBUF_HDR *)data;

	return size > HEADER && data[HEADER] == START &&
	       h->h_unused <= BSIZE - HEADER - sizeof(struct SSAMPLE);
}

static void
add_buffer(struct profile *p, const char *data, size_t at)
{
	struct LOGBUF b; /* aligned, as what is left of a file may not be */
	const void *record;

	memcpy(&b, data + at, sizeof(b));
	p->walk.at = at;
	pcs_buffer(&p->walk, &b);
	while ((record = pcs_next(&p->walk)))
		add(p, record);
}

/* --- Sealed streams --- */

/* Where the next buffer is that has a SEAL, wherever it begins; or size. */
static size_t
next_sealed(const char *data, size_t size, size_t at, struct SEAL_RECORD *seal)
{
	for (; size - at >= BSIZE; at++)
		if (pcs_seal(seal, data + at))
			return at;
	return size;
}

static bool
is_sealed(const char *data, size_t size)
{
	struct SEAL_RECORD seal;

	return next_sealed(data, size, 0, &seal) < size;
}

/* Count what is missing before a buffer. */
static void
add_missing(struct profile *p, const struct SEAL_RECORD *seal)
{
	if (seal->sequence > p->sequence)
		p->missing_hits += (unsigned int)(seal->hits - p->walk.total -
						  p->missing_hits);
	p->missing += seal->sequence - p->sequence;
	p->sequence = seal->sequence + 1;
}

/* Take what is whole. Each SEAL tells what is missing before it. */
static void
add_sealed(struct profile *p, const char *data, size_t size)
{
	struct SEAL_RECORD seal;
	size_t at = 0;

	for (; (at = next_sealed(data, size, at, &seal)) < size; at += BSIZE) {
		if (p->sequence == 0)
			p->recording = seal.recording;
		if (seal.recording != p->recording)
			p->foreign++;
		else if (seal.sequence >= p->sequence) {
			add_missing(p, &seal);
			add_buffer(p, data, at);
		}
	}
	if (p->has_account)
		p->walk.lost = p->account.lost;
	p->walk.lost_more = !p->has_account &&
			    (p->walk.lost_more || p->missing > 0);
	p->walk.lost += p->missing_hits;
	if (p->missing > 0)
		cmd_error("%s: buffers missing or damaged: %llu of the first "
			  "%u, with %llu samples",
			  p->walk.name, (unsigned long long)p->missing,
			  p->sequence, (unsigned long long)p->missing_hits);
	if (p->foreign > 0)
		cmd_error("%s: buffers of another recording: %llu",
			  p->walk.name, (unsigned long long)p->foreign);
}

void
stream_load(struct profile *p, const char *path)
{
	struct pcs_walk *w = &p->walk;
	int fd = cmd_open(path);
	const char *data;
	size_t size;

	if (fd < 0)
		exit(cmd_status);
	w->name = cmd_title(path);
	data = cmd_slurp(fd, w->name, &size);
	if (!data)
		exit(cmd_status);
	if (is_sealed(data, size)) {
		add_sealed(p, data, size);
		size = 0; /* where it is truncated, seals have told */
	} else if (is_stream(data, size)) {
		for (size_t at = 0; size - at >= BSIZE; at += BSIZE)
			add_buffer(p, data, at);
	} else {
		cmd_error("%s: not a recording of getpc", w->name);
		exit(cmd_status);
	}
	if (size % BSIZE != 0)
		cmd_error("%s: truncated within a buffer", w->name);
	else if (!w->stopped)
		cmd_error("%s: truncated: no STOP record", w->name);
}
