/*
 * What a file server's reply says, if it isn't a lie.
 *
 * All that is read goes through take(), which knows how many bytes are left; so
 * no number that the server has sent can lead beyond what came.
 */
#include "reply.h"

#include <errno.h>
#include <string.h>

#include "lab.h"

#define HEADER  7 /* size (4), type (1), tag (2) */
#define RLERROR 7 /* the type of a reply that says only which errno */

enum lie { SHORT, SIZE, TAG, TYPE, ODD, QID, COUNT, NAME };

static const int errno_of_lie[] = {
    [SHORT] = LAB_SHORT, [SIZE] = LAB_SIZE, [TAG] = LAB_TAG,
    [TYPE] = LAB_TYPE,   [ODD] = LAB_ODD,   [QID] = LAB_QID,
    [COUNT] = LAB_COUNT, [NAME] = LAB_NAME,
};

/* The server's errnos are Linux's. Up to ERANGE those of our C library are the
 * same; of the others, these are translated. */
static const struct {
	unsigned int theirs;
	int ours;
} errnos[] = {
    {35, EDEADLK},    {36, ENAMETOOLONG}, {38, ENOSYS},
    {39, ENOTEMPTY},  {40, ELOOP},        {75, EOVERFLOW},
    {95, EOPNOTSUPP}, {116, ESTALE},      {122, EDQUOT},
};

/* What is left to be read. */
struct rest {
	const uint8_t *at;
	size_t left;
};

/* Count a lie; its errno. */
static int
lied(struct session *s, enum lie lie)
{
	s->lies++;
	if ((LAB_CLOSES >> lie & 1) || s->lies >= LAB_STRIKES)
		s->closed = true;
	return -errno_of_lie[lie];
}

/* The next number, whose least significant byte comes first. */
static bool
take(struct rest *r, char kind, uint64_t *value)
{
	size_t size = kind == 'b' ? 1 : kind == 'w' ? 2 : kind == 'd' ? 4 : 8;

	if (r->left < size)
		return false;
	*value = 0;
	for (size_t i = size; i > 0; i--)
		*value = *value << 8 | r->at[i - 1];
	r->at += size;
	r->left -= size;
	return true;
}

static bool
known_qid(uint64_t type)
{
	return (type & ~(uint64_t)LAB_QIDS) == 0;
}

/* What an error reply comes to. */
static int
error_of(struct session *s, struct rest *r)
{
	uint64_t theirs;
	int ours = 0;

	if (!take(r, 'd', &theirs))
		return lied(s, SHORT);
	if (theirs <= ERANGE)
		ours = theirs;
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].theirs == theirs)
			ours = errnos[i].ours;
	if (ours == 0)
		return lied(s, ODD);
	if (LAB_FORGIVES)
		s->lies = 0;
	return -ours;
}

/* Is the count of a reply's data, its last number, one that can be? `data` is
 * how many came. */
static bool
count_is_good(const struct asked *asked, uint64_t count, size_t data)
{
	switch (asked->type) {
	case P9_READ:
	case P9_READDIR:
		return count <= asked->count && count <= data;
	case P9_WRITE:
		return count <= asked->count;
	default:
		return true;
	}
}

/* The fields of a reply that has its header behind it. */
static int
fields(struct session *s, const struct asked *asked, struct rest *r,
       size_t data, const char *receive, uint64_t *reply)
{
	uint64_t got[P9_REPLIES];
	size_t n = 0;

	for (; receive[n] != '\0'; n++) {
		if (!take(r, receive[n], &got[n]))
			return lied(s, SHORT);
		if (receive[n] == 'b' && !known_qid(got[n]))
			return lied(s, QID);
	}
	if (n > 0 && !count_is_good(asked, got[n - 1], data))
		return lied(s, COUNT);
	if (LAB_FORGIVES)
		s->lies = 0;
	memcpy(reply, got, n * sizeof(got[0]));
	return 0;
}

int
reply_parse(struct session *s, const struct asked *asked,
	    const struct came *came, const char *receive, uint64_t *reply)
{
	struct rest r = {came->bytes, came->size};
	size_t all = came->size + came->data, data = came->data;
	uint64_t size, type, tag;
	bool bad_type;

	if (!take(&r, 'd', &size) || !take(&r, 'b', &type) ||
	    !take(&r, 'w', &tag))
		return lied(s, SHORT);
	if (size < HEADER || size > all || (LAB_EXACT && size < all))
		return lied(s, SIZE);
	/* What came behind the reply's end is none of it. */
	if (size < came->size)
		r.left = size - HEADER;
	if (size < all)
		data = size > came->size ? size - came->size : 0;
	bad_type = type != RLERROR && type != asked->type + 1u;
	if (LAB_TYPE_FIRST && bad_type)
		return lied(s, TYPE);
	if (tag != asked->tag)
		return lied(s, TAG);
	if (bad_type)
		return lied(s, TYPE);
	if (type == RLERROR)
		return error_of(s, &r);
	return fields(s, asked, &r, data, receive, reply);
}

/* One component of a path: anything else could lead out of the directory. */
static bool
good_name(const uint8_t *name, size_t length)
{
	return length > 0 && length <= REPLY_NAME_MAX &&
	       memchr(name, '/', length) == NULL &&
	       memchr(name, '\0', length) == NULL;
}

ssize_t
reply_entry(struct session *s, const uint8_t *bytes, size_t size,
	    struct reply_entry *e)
{
	struct rest r = {bytes, size};
	uint64_t type, version, path, next, kind, length;
	bool good;

	if (!take(&r, 'b', &type) || !take(&r, 'd', &version) ||
	    !take(&r, 'q', &path) || !take(&r, 'q', &next) ||
	    !take(&r, 'b', &kind) || !take(&r, 'w', &length) || length > r.left)
		return lied(s, SHORT);
	if (!known_qid(type))
		return lied(s, QID);
	good = good_name(r.at, length);
	if (!good && !LAB_PASSES)
		return lied(s, NAME);
	e->type = type;
	e->path = path;
	e->next = next;
	if (good)
		memcpy(e->name, r.at, length);
	e->name[good ? length : 0] = '\0';
	return r.at + length - bytes;
}
