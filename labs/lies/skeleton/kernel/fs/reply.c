/*
 * What a file server's reply says. This client believes every word: it works as
 * long as the server is honest. See README.md of the lab.
 */
#include "reply.h"

#include <errno.h>
#include <string.h>

#define HEADER  7 /* size (4), type (1), tag (2) */
#define RLERROR 7 /* the type of a reply that says only which errno */

static unsigned int
size_of(char kind)
{
	return kind == 'b' ? 1 : kind == 'w' ? 2 : kind == 'd' ? 4 : 8;
}

/* A number, whose least significant byte comes first. */
static uint64_t
number(const uint8_t *at, char kind)
{
	uint64_t value = 0;

	for (unsigned int i = size_of(kind); i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

int
reply_parse(struct session *s, const struct asked *asked,
	    const struct came *came, const char *receive, uint64_t *reply)
{
	const uint8_t *at = came->bytes + HEADER;

	(void)s; /* TODO: who lies? */
	(void)asked;
	if (came->bytes[4] == RLERROR)
		return -(int)number(at, 'd'); /* TODO: it is Linux's */
	for (; *receive != '\0'; receive++) {
		*reply++ = number(at, *receive);
		at += size_of(*receive);
	}
	return 0;
}

/*
 * An entry's parts, by offset in bytes:
 *
 *	0	qid: type (1), version (4), number of the file (8)
 *	13	the cookie of what follows (8)
 *	21	a type (1)
 *	22	the name: its length (2), its characters
 */
ssize_t
reply_entry(struct session *s, const uint8_t *bytes, size_t size,
	    struct reply_entry *e)
{
	size_t length = number(bytes + 22, 'w');

	(void)s;
	(void)size;
	e->type = bytes[0];
	e->path = number(bytes + 5, 'q');
	e->next = number(bytes + 13, 'q');
	memcpy(e->name, bytes + 24, length);
	e->name[length] = '\0';
	return 24 + length;
}
