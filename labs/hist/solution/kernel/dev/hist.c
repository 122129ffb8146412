/*
 * hist: a histogram of kernel text.
 *
 * /dev/histctl takes the words start, stop and clear. /dev/hist is an array of
 * counters: one for so many bytes of text each, and one for samples elsewhere.
 *
 * All harts share the counters. What a sample does to one depends on what is in
 * it, so it is no addition, but a compare-and-swap that is tried until nobody
 * else comes in between. Readers take no lock: they load one counter at a time.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/panic.h"
#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lab.h"
#include "mm/kmalloc.h"
#include "sched/clock.h"
#include "sched/lock.h"

#include "sample.h"

enum { HISTCTL, HIST };

#define CHUNK (512 / LAB_WIDTH) /* counters that are moved at once */

static uint32_t *counter; /* atomics, in the file's order */
static size_t ncounters;
static struct mutex lock = MUTEX("hist", lock); /* of who turns it on or off */

/* Where the samples of a mode count. */
static const enum {
	NOWHERE,
	ELSEWHERE,
	BY_PC
} goes[] = {
    [SAMPLE_USER] = LAB_USER,
    [SAMPLE_KERNEL] = LAB_KERNEL,
    [SAMPLE_KERNELI] = LAB_INTR,
    [SAMPLE_IDLE] = LAB_IDLE,
};

/* The counter of a sample. If the pc is below the text, the difference is very
 * large. */
static size_t
hist_index(const struct sample *s)
{
	size_t at = s->pc - (unsigned long)text_start;

	if (goes[s->mode] == BY_PC && at < (size_t)(etext - text_start))
		return LAB_ELSEWHERE_FIRST + at / LAB_BUCKET;
	return LAB_ELSEWHERE_FIRST ? 0 : ncounters - 1;
}

/* The sampler calls this with SIE=0, on any number of harts at once. A failed
 * exchange loads n anew. */
static void
hist_count(const struct sample *s)
{
	uint32_t *c = &counter[hist_index(s)];
	uint32_t n = __atomic_load_n(c, __ATOMIC_RELAXED), next;

	if (goes[s->mode] == NOWHERE)
		return;
	do {
		next = n < LAB_LIMIT ? n + 1 : LAB_FULL;
	} while (!__atomic_compare_exchange_n(
	    c, &n, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

struct profiler hist_profiler = {.count = hist_count};

/* The last bytes of text may be fewer than a counter is for. */
static void
hist_init(void)
{
	ncounters = 1 + (etext - text_start + LAB_BUCKET - 1) / LAB_BUCKET;
	counter = kzalloc(ncounters * sizeof(*counter));
	if (!counter)
		panic("no memory for hist");
}

/* Turn it on or off, as the word says. When it is off, no hart counts. */
static int
hist_switch(bool on)
{
	int r = 0;

	mutex_lock(&lock);
	if ((hist_profiler.armed != 0) == on)
		r = LAB_AGAIN_BUSY ? -EBUSY : 0;
	else if (on)
		sample_arm(&hist_profiler);
	else
		sample_disarm(&hist_profiler);
	mutex_unlock(&lock);
	return r;
}

static int
hist_start(char **)
{
	return hist_switch(true);
}

static int
hist_stop(char **)
{
	return hist_switch(false);
}

/* Off meanwhile, so that no sample is counted in what is half cleared. */
static int
hist_clear(char **)
{
	bool armed;

	mutex_lock(&lock);
	armed = hist_profiler.armed;
	sample_disarm(&hist_profiler);
	memset(counter, 0, ncounters * sizeof(*counter));
	if (armed && !LAB_CLEAR_STOPS)
		sample_arm(&hist_profiler);
	mutex_unlock(&lock);
	return 0;
}

static const struct ctlword words[] = {
    {.name = "start", .run = hist_start},
    {.name = "stop", .run = hist_stop},
    {.name = "clear", .run = hist_clear},
    {0},
};

static off_t
hist_size(unsigned int id)
{
	return id == HIST ? (off_t)(ncounters * LAB_WIDTH) : 0;
}

/* Store a counter as the file shows it. */
static void
hist_show(unsigned char *to, uint64_t n)
{
	for (int i = 0; i < LAB_WIDTH; i++, n >>= 8)
		to[LAB_BIG ? LAB_WIDTH - 1 - i : i] = n;
}

/* `skip' is how many bytes of the first counter lie before the offset. uio_to
 * advances the offset. */
static ssize_t
hist_read(struct vnode *v, struct file *, struct uio *u)
{
	unsigned char chunk[CHUNK * LAB_WIDTH];
	ssize_t total = 0;

	while (u->left && u->offset < hist_size(device_id(v))) {
		size_t first = u->offset / LAB_WIDTH;
		size_t skip = u->offset % LAB_WIDTH;
		size_t n = ncounters - first < CHUNK ? ncounters - first
						     : CHUNK;
		ssize_t moved;

		for (size_t i = 0; i < n; i++)
			hist_show(chunk + i * LAB_WIDTH,
				  __atomic_load_n(&counter[first + i],
						  __ATOMIC_RELAXED));
		moved = uio_to(u, chunk + skip, n * LAB_WIDTH - skip);
		if (moved < 0)
			return LAB_SHORT && total > 0 ? total : moved;
		total += moved;
	}
	return total;
}

static ssize_t
hist_write(struct vnode *, struct file *, struct uio *u)
{
	return ctl_write(u, words);
}

/* Each can be opened for one thing only, so there is one function for it. */
static const struct devfile files[] = {
    {.name = "histctl", .id = HISTCTL, .mode = 0200},
    {.name = "hist", .id = HIST, .mode = 0400},
    {0},
};

const struct device hist_device = {
    .files = files,
    .init = hist_init,
    .ops.read = hist_read,
    .ops.write = hist_write,
    .size = hist_size,
};
