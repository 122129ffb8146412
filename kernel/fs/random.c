/*
 * /dev/random, /dev/urandom and getrandom: numbers that nobody would guess by
 * chance. They are not for secrets: whoever has seen some can compute all
 * others. Under -icount they are the same in each run, as everything is.
 *
 * Each word is made of the machine's key and of how many words came before, so
 * harts share nothing but that count.
 */
#include <errno.h>
#include <limits.h>

#include "base/random.h"
#include "base/syscall.h"
#include "machine/machine.h"

#include "device.h"
#include "file.h"
#include "uio.h"
#include "vnode.h"

#define GRND_NONBLOCK 1
#define GRND_RANDOM   2
#define GRND_INSECURE 4

#define MOST  ((32 << 20) - 1) /* bytes that a call returns, as Linux */
#define PIECE 32               /* words that are made at a time */

static uint64_t
next_word(void)
{
	static uint64_t count; /* atomic */
	uint64_t n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	uint64_t state = (machine.key[0] + n) * RANDOM_SPREAD | 1;

	return random_next(&state) ^ random_next(&state);
}

static ssize_t
fill(struct uio *u)
{
	uint64_t words[PIECE];
	ssize_t total = 0;

	if (u->left > MOST)
		u->left = MOST;
	while (u->left > 0) {
		ssize_t r;

		for (int i = 0; i < PIECE; i++)
			words[i] = next_word();
		r = uio_to(u, words, sizeof(words));
		if (r < 0)
			return total > 0 ? total : r;
		total += r;
	}
	return total;
}

static ssize_t
random_read(struct vnode *, struct file *, struct uio *u)
{
	return fill(u);
}

/* What is written changes nothing. */
static ssize_t
random_write(struct vnode *, struct file *, struct uio *u)
{
	return u->left;
}

/* getrandom(buf, size, flags). It never waits, so the flags mean nothing. */
long
sys_getrandom(const unsigned long *arg)
{
	struct uio u = {.base = arg[0], .left = arg[1]};
	unsigned int flags = arg[2];

	if (flags & ~(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE) ||
	    (flags & GRND_RANDOM && flags & GRND_INSECURE))
		return -EINVAL;
	return fill(&u);
}

static const struct devfile files[] = {
    {.name = "random", .id = 0, .mode = 0666},
    {.name = "urandom", .id = 1, .mode = 0666},
    {0},
};

const struct device random_device = {
    .files = files,
    .ops.read = random_read,
    .ops.write = random_write,
};
