/*
 * What a file server's reply says, if it isn't a lie: README.md of lab lies.
 * Nothing here depends on the rest of the kernel, so that reply.c also runs on
 * the host, under the compiler's sanitizers.
 */
#ifndef KERNEL_REPLY_H
#define KERNEL_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "p9.h"

#define REPLY_NAME_MAX 255 /* characters of a name, without the NUL */

/* A server, as it has behaved so far; all zeroes at first. */
struct session {
	unsigned int lies;
	bool closed; /* nothing is asked any more */
};

/* A request that was sent. */
struct asked {
	enum p9_type type;
	unsigned int tag;
	size_t count; /* READ, READDIR, WRITE: so many bytes of data */
};

/* What came for it: `size` bytes, of which the header is first. For READ and
 * READDIR at most 11 of them are here; the data behind them, `data` bytes of
 * what came, are at their place already. */
struct came {
	const uint8_t *bytes;
	size_t size;
	size_t data;
};

/* An entry of a directory. */
struct reply_entry {
	uint64_t path; /* the number of the file */
	uint64_t next; /* the server's cookie for what follows */
	uint8_t type;  /* of the file's qid */
	char name[REPLY_NAME_MAX + 1];
};

/* Take a reply apart, as `receive` describes it (p9.h). 0, and the numbers are
 * in `reply`; or a negative errno, and nothing is. */
int reply_parse(struct session *s, const struct asked *asked,
		const struct came *came, const char *receive, uint64_t *reply);

/* The entry that begins at `bytes`, where there are still `size` of a READDIR's
 * data. Returns how many of them it takes; or a negative errno, and *e is as
 * it was. */
ssize_t reply_entry(struct session *s, const uint8_t *bytes, size_t size,
		    struct reply_entry *e);

#endif
