/*
 * A file server's replies that are good but for one lie: kernel/fs/p9.c refuses
 * each for it, with EIO. Before each comes a true one of its kind, whose rest
 * is where the next is put. (p9.c here: what comes of lies in /host.)
 */
#include "host.h"

#include "kernel/proc/proc.h"

#include "kernel/fs/p9.c"

struct thread *current;
static struct thread thread;
static struct proc proc;

#define NOTHING(declaration) \
	declaration          \
	{                    \
	}
NOTHING(void mutex_lock(struct mutex *m))
NOTHING(void mutex_unlock(struct mutex *m))
NOTHING(void spin_lock(struct spinlock *l))
NOTHING(void spin_unlock(struct spinlock *l))
NOTHING(void wait_uninterruptible(struct waitq *q, struct spinlock *l))
NOTHING(void wake_all(struct waitq *q))

/* --- Lies: the reply's length, from what it is --- */

static uint8_t reply_bytes[PAGE_SIZE];

static size_t
none(size_t size)
{
	return size;
}

static size_t
other_tag(size_t size)
{
	unsigned int tag = p9_number(reply_bytes + 5, 'w');

	put(reply_bytes + 5, tag + 1 + random_below(0xffff), 'w');
	return size;
}

static size_t
other_type(size_t size)
{
	uint8_t type = reply_bytes[4];

	while (reply_bytes[4] == type || reply_bytes[4] == RLERROR)
		reply_bytes[4] = random_64();
	return size;
}

static size_t
longer_than_sent(size_t size)
{
	put(reply_bytes, size + 1 + random_below(1 << random_below(31)), 'd');
	return size;
}

static size_t
cut(size_t size)
{
	size = random_below(size);
	put(reply_bytes, size, 'd');
	return size;
}

static size_t
error_without_number(size_t size)
{
	put(reply_bytes + 4, RLERROR, 'b');
	size = HEADER + random_below(4);
	put(reply_bytes, size, 'd');
	return size;
}

/* The device may say, too, that so much has come. */
static size_t
larger_count(size_t size)
{
	size_t more = 1 + random_below(1 << random_below(31));

	put(reply_bytes + HEADER, size - COUNTED + more, 'd');
	return random_below(2) ? size : size + more;
}

static size_t (*lie)(size_t size);

/* --- The server --- */

static size_t sent;

bool
virtio_open(uint32_t id, void (*finished)(void))
{
	return true;
}

bool
virtio_done(size_t *written)
{
	*written = sent;
	return true;
}

/* What a true reply has after its header. */
static uint8_t *
put_body(uint8_t *at, unsigned int type)
{
	switch (type) {
	case P9_GETATTR:
		at = put(put(put(at, 1, 'q'), 2, 'b'), 3, 'd');
		return put(put(at, 4, 'q'), 5, 'w');
	case P9_READ:
		at = put(at, 100, 'd');
		memset(at, 'd', 100);
		return at + 100;
	}
	return at;
}

void
virtio_submit(const struct virtio_piece *piece, unsigned int n)
{
	const uint8_t *asked = piece[0].base;
	size_t size, at = 0;

	size = put_body(reply_bytes + HEADER, asked[4]) - reply_bytes;
	put(reply_bytes, size, 'd');
	put(reply_bytes + 4, asked[4] + 1, 'b');
	put(reply_bytes + 5, p9_number(asked + 5, 'w'), 'w');
	sent = lie(size);
	for (unsigned int i = 1; i < n && at < sent; i++) {
		size_t part = sent - at < piece[i].size ? sent - at
							: piece[i].size;

		memcpy(piece[i].base, reply_bytes + at, part);
		at += part;
	}
}

/* --- Calls whose replies have nothing, numbers, and data --- */

static int
call(enum p9_type type)
{
	static uint8_t bytes[100];
	struct p9_data data = {bytes, sizeof(bytes)};
	uint64_t reply[P9_REPLIES];
	int r;

	if (type == P9_FSYNC)
		return p9_call(type, NULL, NULL, "", "dd", 1, 0);
	if (type == P9_GETATTR) {
		r = p9_call(type, NULL, reply, "qbdqw", "dq", 1, 0UL);
		for (int i = 0; i < 5 && r == 0; i++)
			EXPECT(reply[i] == i + 1u);
		return r;
	}
	r = p9_call(type, &data, reply, "d", "dqd", 1, 0UL, 100);
	EXPECT(r != 0 || (data.size == 100 && bytes[99] == 'd'));
	return r;
}

static void
check(enum p9_type type, size_t (*what)(size_t size))
{
	lie = none;
	EXPECT(call(type) == 0);
	lie = what;
	EXPECT(call(type) == -EIO);
}

int
main(int argc, char **argv)
{
	static const enum p9_type types[] = {P9_FSYNC, P9_GETATTR, P9_READ};
	long rounds = strtol(argv[1], NULL, 0);

	current = &thread;
	thread.proc = &proc;
	random_state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	for (round_number = 0; round_number < rounds; round_number++) {
		for (int i = 0; i < 3; i++) {
			check(types[i], other_tag);
			check(types[i], other_type);
			check(types[i], longer_than_sent);
			check(types[i], cut);
			check(types[i], error_without_number);
		}
		check(P9_READ, larger_count);
	}
	return 0;
}
