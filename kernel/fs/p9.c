/*
 * 9P2000.L, the client's side. p9_call, at the end, makes a request
 * (make_request), sends it (exchange), waits (wait_for_answer) and takes the
 * reply apart (parse).
 *
 * A message begins with a header of 7 bytes: its whole size (4), its type (1)
 * and a tag (2), which the reply repeats. Then follow the fields, as p9.h
 * explains; numbers have the least significant byte first. The data of a read
 * or write aren't copied: the device gets their memory as a piece of its own.
 *
 *	P9_WRITE sends	request, data		and receives	answer
 *	P9_READ sends	request			and receives	answer, data
 *
 * The server isn't trusted: every number in a reply is checked against how many
 * bytes came, and how many were asked for.
 */
#include "p9.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/print.h"
#include "driver/virtio.h"
#include "sched/lock.h"
#include "sched/thread.h"

#define VERSION  "9P2000.L"
#define HEADER   7      /* size, type, tag */
#define TAG      0      /* always the same: there is one request at a time.. */
#define NOTAG    0xffff /* ..but P9_VERSION must have this one */
#define COUNTED  11     /* a reply's part before its data: with their count */
#define OVERHEAD 24     /* what a read or a write adds to its data, at most */

#define DATA_MAX (16 * PAGE_SIZE) /* what a read or a write carries */

enum { RLERROR = 7 };

size_t p9_io;

/* Guards both messages and the device's queue, during a whole exchange. As page
 * faults make requests, too, no user memory is touched meanwhile. */
static struct mutex busy = MUTEX("9p", busy);
static _Alignas(PAGE_SIZE) uint8_t request[PAGE_SIZE] GUARDED_BY(busy);
static _Alignas(PAGE_SIZE) uint8_t answer[PAGE_SIZE] GUARDED_BY(busy);

/* Where a caller sleeps until its exchange has ended. The lock is of level 5,
 * as the device's interrupt takes it. */
static struct spinlock done_lock = SPINLOCK5("9p");
static struct waitq done GUARDED_BY(done_lock) = WAITQ_FOR(done, WAITS_HOST, 0);

/* The server's errnos are Linux's, as ours are. Beyond ERANGE these make sense
 * for a file; any other is EIO. */
static const uint8_t errnos[] = {
    EDEADLK,   ENAMETOOLONG, ENOSYS, ENOTEMPTY, ELOOP,
    EOVERFLOW, EOPNOTSUPP,   ESTALE, EDQUOT,
};

static int
errno_of(uint64_t theirs)
{
	if (theirs > 0 && theirs <= ERANGE)
		return -(int)theirs;
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
		if (errnos[i] == theirs)
			return -(int)theirs;
	return -EIO;
}

static unsigned int
size_of(char kind)
{
	return kind == 'b' ? 1 : kind == 'w' ? 2 : kind == 'd' ? 4 : 8;
}

/* Write a number of this kind, and return the place behind it. */
static uint8_t *
put(uint8_t *at, uint64_t value, char kind)
{
	for (unsigned int i = size_of(kind); i > 0; i--, value >>= 8)
		*at++ = value;
	return at;
}

uint64_t
p9_number(const uint8_t *at, char kind)
{
	uint64_t value = 0;

	for (unsigned int i = size_of(kind); i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

/* Make a message in `request`, as `send` describes it (p9.h), and return its
 * length. The size that it states includes `extra` bytes of data that follow.
 * It always fits: it has at most two names, or a name and a path. */
static size_t
make_request(enum p9_type type, size_t extra, const char *send, va_list args)
{
	uint8_t *at = request + HEADER;

	for (; *send != '\0'; send++) {
		if (*send == 's') {
			const char *s = va_arg(args, const char *);
			size_t size = strlen(s);

			at = put(at, size, 'w');
			memcpy(at, s, size);
			at += size;
		} else if (*send == 'q') {
			at = put(at, va_arg(args, unsigned long), 'q');
		} else {
			at = put(at, va_arg(args, unsigned int), *send);
		}
	}
	put(request, at - request + extra, 'd');
	put(request + 4, type, 'b');
	put(request + 5, type == P9_VERSION ? NOTAG : TAG, 'w');
	return at - request;
}

/* Called by the virtio driver, at level 5, when a request has been served. */
static void
interrupt(void)
{
	spin_lock(&done_lock);
	wake_all(&done);
	spin_unlock(&done_lock);
}

/*
 * Wait for the device, and return how many bytes it has written. At boot no
 * thread can sleep yet, so p9_init's requests are waited for in a loop. The
 * wait is uninterruptible: a request can't be withdrawn, and until it is served
 * the device uses its memory.
 */
static size_t
wait_for_answer(void)
{
	size_t written;

	while (current->proc == NULL && !virtio_done(&written))
		;
	if (current->proc == NULL)
		return written;
	spin_lock(&done_lock);
	while (!virtio_done(&written))
		wait_uninterruptible(&done, &done_lock);
	spin_unlock(&done_lock);
	return written;
}

/*
 * Send size bytes of request, and wait. Returns how many bytes of the answer
 * came, data included; never more than there was room for, whatever the device
 * says. If the reply has data, `answer` gets only the 11 bytes before them,
 * header and count, so that the data begin just where data->bytes does. An
 * error, a header and 4 bytes, fits into the 11 as well.
 */
static size_t
exchange(enum p9_type type, size_t size, struct p9_data *data)
{
	struct virtio_piece piece[VIRTIO_PIECES];
	size_t written, most;
	unsigned int n = 0;
	bool reads;

	if (type == P9_READLINK)
		data = NULL; /* it is within the answer */
	reads = data != NULL && type != P9_WRITE;

	piece[n++] = (struct virtio_piece){request, size, false};
	if (reads)
		piece[n++] = (struct virtio_piece){answer, COUNTED, true};
	if (data != NULL)
		piece[n++] = (struct virtio_piece){data->bytes, data->size,
						   reads};
	if (!reads)
		piece[n++] = (struct virtio_piece){answer, PAGE_SIZE, true};
	virtio_submit(piece, n);
	written = wait_for_answer();
	most = reads ? COUNTED + data->size : PAGE_SIZE;
	return written < most ? written : most;
}

/* Copy a string of the answer, or as much as there is room for, to data. */
static int
parse_string(const uint8_t *at, const uint8_t *end, struct p9_data *data)
{
	size_t length;

	if (end - at < 2)
		return -EIO;
	length = p9_number(at, 'w');
	at += 2;
	if (length > (size_t)(end - at))
		return -EIO;
	if (data->size > length)
		data->size = length;
	memcpy(data->bytes, at, data->size);
	return 0;
}

/* Take an answer of size bytes apart, as `receive` describes it. Returns what
 * p9_call does. The count of the data is the last number received. */
static int
parse(enum p9_type type, size_t size, struct p9_data *data, uint64_t *reply,
      const char *receive)
{
	const uint8_t *at = answer + HEADER, *end = answer + size;
	uint64_t wanted = type + 1u;

	if (size < HEADER || p9_number(answer, 'd') > size ||
	    p9_number(answer + 5, 'w') != p9_number(request + 5, 'w'))
		return -EIO;
	if (p9_number(answer + 4, 'b') == RLERROR && size >= HEADER + 4)
		return errno_of(p9_number(at, 'd'));
	if (p9_number(answer + 4, 'b') != wanted)
		return -EIO;
	if (*receive == 's')
		return parse_string(at, end, data);
	for (; *receive != '\0'; receive++) {
		if (end - at < size_of(*receive))
			return -EIO;
		*reply++ = p9_number(at, *receive);
		at += size_of(*receive);
	}
	if (data == NULL || type == P9_WRITE)
		return 0;
	if (reply[-1] > data->size || COUNTED + reply[-1] > size)
		return -EIO;
	data->size = reply[-1];
	return 0;
}

int
p9_call(enum p9_type type, struct p9_data *data, uint64_t *reply,
	const char *receive, const char *send, ...)
{
	size_t extra = type == P9_WRITE ? data->size : 0, size;
	va_list args;
	int r;

	mutex_lock(&busy);
	va_start(args, send);
	size = make_request(type, extra, send, args);
	va_end(args);
	r = parse(type, exchange(type, size, data), data, reply, receive);
	mutex_unlock(&busy);
	return r;
}

/* Agree on the version and the largest message, which the server may lower;
 * then ask for the root. The reply's version is a string: its length is parsed
 * as a number, and the characters behind it are compared here. */
bool
p9_init(uint32_t root, uint64_t *root_path)
{
	uint64_t reply[P9_REPLIES];
	size_t wanted = DATA_MAX + OVERHEAD;
	bool known;

	if (!virtio_open(VIRTIO_ID_9P, interrupt))
		return false;
	if (p9_call(P9_VERSION, NULL, reply, "dw", "ds", wanted, VERSION) < 0)
		return false;
	known = reply[1] == strlen(VERSION) &&
		memcmp(answer + HEADER + 6, VERSION, reply[1]) == 0;
	if (!known || reply[0] > wanted || reply[0] < PAGE_SIZE + OVERHEAD) {
		kprintf("host: the file server doesn't speak " VERSION "\n");
		return false;
	}
	p9_io = (reply[0] - OVERHEAD) / PAGE_SIZE * PAGE_SIZE;
	if (p9_call(P9_ATTACH, NULL, reply, "bdq", "ddssd", root, P9_NOFID,
		    "root", "", 0) < 0) {
		kprintf("host: the file server refused the attach request\n");
		return false;
	}
	*root_path = reply[2];
	return true;
}
