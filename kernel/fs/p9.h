/*
 * 9P2000.L: requests to a file server on the host, over virtio. One at a time;
 * whoever has another waits.
 */
#ifndef KERNEL_P9_H
#define KERNEL_P9_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests; a reply's number is one more. */
enum p9_type {
	P9_LOPEN = 12,
	P9_MKNOD = 18,
	P9_GETATTR = 24,
	P9_SETATTR = 26,
	P9_READDIR = 40,
	P9_FSYNC = 50,
	P9_MKDIR = 72,
	P9_RENAMEAT = 74,
	P9_UNLINKAT = 76,
	P9_VERSION = 100,
	P9_ATTACH = 104,
	P9_WALK = 110,
	P9_READ = 116,
	P9_WRITE = 118,
	P9_CLUNK = 120,
};

#define P9_NOFID   UINT32_MAX
#define P9_REPLIES 20 /* numbers in a reply, at most */

/* What a read brings or a write takes along: size bytes, kmalloc's or of a
 * page, as the device finds memory by its physical address. */
struct p9_data {
	void *bytes;
	size_t size;
};

/*
 * Send a request and wait for the reply. send says what the arguments are:
 * d 32 bits, q 64 bits (an unsigned long), s a string; a w counts the strings
 * that follow. receive says what a reply has: w, d and q, and b for a byte;
 * their values go to reply, P9_REPLIES at most. data may be NULL. 0, or what
 * the server says is wrong as a negative errno; -EIO: it doesn't make sense.
 */
int p9_call(enum p9_type type, struct p9_data *data, uint64_t *reply,
	    const char *receive, const char *send, ...);

/* The number of a kind (b, w, d or q) at a place in what a read brought. */
uint64_t p9_number(const uint8_t *at, char kind);

/* Find the server, at boot; root is the fid that stands for its root. False:
 * there is none. */
bool p9_init(uint32_t root, uint64_t *root_path);
/* Bytes that data may have, a multiple of a page. */
extern size_t p9_io;

#endif
