/*
 * kprof, the kernel profiler of Plan 9 and Inferno: kprof(3).
 *
 * /dev/kpctl takes the words start, startclr and stop. /dev/kpdata is an
 * array of 4-byte big-endian counters: all ticks, ticks in the kernel, then
 * one for every 8 bytes of kernel text. An idle hart is in the kernel, and so
 * is a tick outside of kernel text (a made-up one's), which has no bucket.
 *
 * A sample bumps one counter, by one atomic, on any hart; the first two words
 * are sums made when they are read. Reading kpctl says how many samples the
 * clock has skipped meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../print.h"
#include "../sample.h"
#include "../sampleclock.h"
#include "dev.h"

enum { KPCTL, KPDATA };

#define BUCKET_SHIFT 3 /* 8 bytes of text */
#define HEAD         2 /* words before the first bucket */

static uint32_t *bucket; /* a counter each; atomics */
static size_t nbuckets;
static struct mutex lock = MUTEX("kprof", lock); /* of who turns it on or off */
static struct skips skips;                       /* lock's */
static uint32_t user_ticks;                      /* atomics */
static uint32_t other_ticks; /* of the kernel, outside of its text */

static void
kprof_count(const struct sample *s)
{
	size_t i = (s->pc - (unsigned long)text_start) >> BUCKET_SHIFT;

	if (s->mode == SAMPLE_USER)
		__atomic_add_fetch(&user_ticks, 1, __ATOMIC_RELAXED);
	else if (i < nbuckets)
		__atomic_add_fetch(&bucket[i], 1, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&other_ticks, 1, __ATOMIC_RELAXED);
}

struct profiler kprof_profiler = {.count = kprof_count};

static void
kprof_init(void)
{
	nbuckets = (etext - text_start) >> BUCKET_SHIFT;
	bucket = kzalloc(nbuckets * sizeof(*bucket));
	if (!bucket)
		panic("no memory for kprof");
}

static int
kprof_start(char **)
{
	mutex_lock(&lock);
	skips_switch(&skips, true);
	sample_arm(&kprof_profiler);
	mutex_unlock(&lock);
	return 0;
}

static int
kprof_stop(char **)
{
	mutex_lock(&lock);
	sample_disarm(&kprof_profiler);
	skips_switch(&skips, false);
	mutex_unlock(&lock);
	return 0;
}

/* Disarmed first, so that no sample is counted while the counters go to 0. */
static int
kprof_startclr(char **)
{
	mutex_lock(&lock);
	sample_disarm(&kprof_profiler);
	memset(bucket, 0, nbuckets * sizeof(*bucket));
	user_ticks = other_ticks = 0;
	skips = (struct skips){0};
	skips_switch(&skips, true);
	sample_arm(&kprof_profiler);
	mutex_unlock(&lock);
	return 0;
}

static const struct ctlword words[] = {
    {.name = "start", .run = kprof_start},
    {.name = "startclr", .run = kprof_startclr},
    {.name = "stop", .run = kprof_stop},
    {0},
};

/* Word i of kpdata. Words 0 and 1 take a pass over all buckets. */
static uint32_t
kprof_word(size_t i)
{
	uint32_t sum = i == 0 ? user_ticks + other_ticks : other_ticks;

	if (i >= HEAD)
		return bucket[i - HEAD];
	for (size_t b = 0; b < nbuckets; b++)
		sum += bucket[b];
	return sum;
}

static off_t
kprof_size(unsigned int id)
{
	return id == KPDATA ? (off_t)((HEAD + nbuckets) * 4) : 0;
}

static ssize_t
kpctl_read(struct file *f, struct uio *u)
{
	char text[32];
	int n;

	mutex_lock(&lock);
	n = snprintf(text, sizeof(text), "skipped %lu\n", skips_count(&skips));
	mutex_unlock(&lock);
	return dev_read_text(f, u, text, n);
}

/* Like an ordinary file: any offset, any length; word by word, big-endian. */
static ssize_t
kprof_read(struct vnode *v, struct file *f, struct uio *u)
{
	off_t size = kprof_size(dev_id(v));
	ssize_t total = 0;
	uint32_t chunk[128];

	if (dev_id(v) == KPCTL)
		return kpctl_read(f, u);
	while (u->left && u->offset < size) {
		size_t first = u->offset / 4, skip = u->offset % 4;
		size_t n = size / 4 - first;
		ssize_t moved;

		if (n > sizeof(chunk) / sizeof(chunk[0]))
			n = sizeof(chunk) / sizeof(chunk[0]);
		for (size_t i = 0; i < n; i++)
			chunk[i] = __builtin_bswap32(kprof_word(first + i));
		moved = uio_to(u, (char *)chunk + skip, n * 4 - skip);
		if (moved < 0)
			return moved;
		total += moved;
	}
	return total;
}

static ssize_t
kprof_write(struct vnode *v, struct file *, struct uio *u)
{
	return dev_id(v) == KPCTL ? ctl_write(u, words) : -EINVAL;
}

static const struct devfile files[] = {
    {.name = "kpctl", .id = KPCTL, .mode = 0600},
    {.name = "kpdata", .id = KPDATA, .mode = 0600},
    {0},
};

const struct device kprof_device = {
    .files = files,
    .init = kprof_init,
    .ops.read = kprof_read,
    .ops.write = kprof_write,
    .size = kprof_size,
};
