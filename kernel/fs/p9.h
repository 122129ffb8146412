/*
 * 9P2000.L: requests to a file server on the host, over virtio. One request is
 * on its way at a time; whoever has another waits.
 *
 * The server knows a file by a fid, a number that the client has chosen. WALK
 * gives a new fid to a file that is found from another one, LOPEN opens the
 * file of a fid for reading or writing, CLUNK ends the use of a fid. ATTACH
 * gives the first one, that of the root.
 */
#ifndef KERNEL_P9_H
#define KERNEL_P9_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests. The type of a reply is one more. */
enum p9_type {
	P9_STATFS = 8,
	P9_LOPEN = 12,
	P9_SYMLINK = 16,
	P9_MKNOD = 18,
	P9_READLINK = 22,
	P9_GETATTR = 24,
	P9_SETATTR = 26,
	P9_READDIR = 40,
	P9_FSYNC = 50,
	P9_LINK = 70,
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

/* What a read returns or a write sends, besides the message. The device reaches
 * it by its physical address, so bytes must be contiguous memory of the direct
 * map: a page, or from kmalloc. After a read, size is how many bytes came. (A
 * string that a reply has is copied, and may go anywhere.) */
struct p9_data {
	void *bytes;
	size_t size;
};

/*
 * Send a request and wait, uninterruptibly, for the reply. Two strings describe
 * the messages, one letter for each field:
 *
 *	b	1 byte			w	2 bytes
 *	d	4 bytes			q	8 bytes (an unsigned long)
 *	s	a string: its length in 2 bytes, then the characters
 *
 * `send` has a letter for each argument that follows it: d, q, s, or w, which
 * is only used for the number of strings that follow. `receive` has a letter
 * for each field of the reply that is wanted, from its start on: b, w, d or q.
 * Their values go to reply[0], reply[1] and so on, P9_REPLIES at most.
 *
 * For example, hostfs.c looks up a name in a directory with
 *
 *	p9_call(P9_WALK, NULL, reply, "wbdq", "ddws", dir, new, 1, "a.txt")
 *
 * which sends the directory's fid (d), the fid that a.txt is to have (d), and
 * one name (w, s). The reply has the number of names found (w), and for each a
 * qid, of which reply[1] is the type (b), reply[2] the version (d), and
 * reply[3] the number of the file (q).
 *
 * data is NULL, or for P9_WRITE what goes with the request. For any other type
 * it is where to put the data of the reply; then `receive` is "d", their count.
 * But P9_READLINK's reply is a string, "s", of which it gets as much as fits.
 *
 * Returns 0; a negative errno that the server sent; or -EIO if the reply
 * doesn't make sense.
 */
int p9_call(enum p9_type type, struct p9_data *data, uint64_t *reply,
	    const char *receive, const char *send, ...);

/* The number, of kind b, w, d or q, at a place in data that were received. */
uint64_t p9_number(const uint8_t *at, char kind);

/* Find the server, at boot, and let the fid `root` stand for its root, whose
 * number becomes *root_path. False: there is none, or none that can be used. */
bool p9_init(uint32_t root, uint64_t *root_path);
/* How many bytes data may have, as agreed with the server; whole pages. */
extern size_t p9_io;

#endif
