/*
 * 9P2000.L, the client's side: messages made, sent, waited for and taken
 * apart. A message is its size, its type and a tag, and then numbers, least
 * significant byte first, and strings with their lengths before them. What a
 * read or a write carries isn't copied here: the device gets its pages.
 *
 * The server is not trusted: whatever a reply says is checked against what it
 * is long, and was asked for.
 */
#include "p9.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../clock.h"
#include "../dev/virtio.h"
#include "../layout.h"
#include "../lock.h"
#include "../print.h"
#include "../thread.h"

#define VERSION  "9P2000.L"
#define HEADER   7      /* size, type, tag */
#define TAG      0      /* of all requests but P9_VERSION, there being one.. */
#define NOTAG    0xffff /* ..at a time, and of that */
#define COUNTED  11     /* a reply's part before its data: with their count */
#define OVERHEAD 24     /* what a read or a write adds to its data, at most */

#define DATA_MAX (16 * PAGE_SIZE) /* what a read or a write carries */

enum { RLERROR = 7 };

size_t p9_io;

/* Guards all that follows; held over an exchange. */
static struct mutex busy = MUTEX("9p", busy);
static _Alignas(PAGE_SIZE) uint8_t request[PAGE_SIZE], answer[PAGE_SIZE];

static struct spinlock done_lock = SPINLOCK5("9p");
static struct waitq done = WAITQ_INIT(done); /* an exchange has ended */

/* Errnos that Linux, whose the server's are, and the C library number
 * differently; up to ERANGE they agree. */
static const struct {
	uint8_t theirs, ours;
} errnos[] = {
    {35, EDEADLK},    {36, ENAMETOOLONG}, {38, ENOSYS},
    {39, ENOTEMPTY},  {40, ELOOP},        {75, EOVERFLOW},
    {95, EOPNOTSUPP}, {116, ESTALE},      {122, EDQUOT},
};

static int
errno_of(uint64_t theirs)
{
	if (theirs > 0 && theirs <= ERANGE)
		return -(int)theirs;
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].theirs == theirs)
			return -errnos[i].ours;
	return -EIO;
}

static unsigned int
size_of(char kind)
{
	return kind == 'b' ? 1 : kind == 'w' ? 2 : kind == 'd' ? 4 : 8;
}

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

/* Names are no longer than NAME_MAX_LEN, and two at most: it always fits. */
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

static void
interrupt(void)
{
	spin_lock(&done_lock);
	wake_all(&done);
	spin_unlock(&done_lock);
}

/* At boot nobody can sleep yet. */
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

/* Send size bytes of request, with the data before or after the answer's
 * first part. How many bytes came back. */
static size_t
exchange(enum p9_type type, size_t size, struct p9_data *data)
{
	struct virtio_piece piece[VIRTIO_PIECES];
	size_t written, most;
	unsigned int n = 0;
	bool reads = data != NULL && type != P9_WRITE;

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

/* Take an answer of so many bytes apart. */
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
		kprintf("host: the file server lets nobody in\n");
		return false;
	}
	*root_path = reply[2];
	return true;
}
