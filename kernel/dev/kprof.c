/*
 * kprof, the kernel profiler of Plan 9 and Inferno: kprof(3) there, kpctl(4)
 * here. It is the simplest of the profilers, and the one to read first.
 *
 * The words start, startclr and stop, written to /dev/kpctl, control the
 * profiler. Reading kpctl returns how many samples the clock has skipped while
 * the profiler was on. /dev/kpdata is an array of 4-byte big-endian counters:
 * all ticks, ticks in the kernel, then one for every 8 bytes of kernel text (a
 * bucket). A tick is a sample. A tick of an idle hart is one in the kernel. A
 * tick in the kernel but outside of its text can only be a synthetic sample;
 * it has no bucket.
 *
 * All harts share the counters. The sampler takes no lock: a sample is one
 * atomic addition to one counter. The first two words of kpdata are sums, and
 * are computed when they are read. While the profiler is on, the words that a
 * reader gets are of different moments.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/panic.h"
#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "mm/kmalloc.h"
#include "sched/clock.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"

#include "sample.h"

enum { KPCTL, KPDATA };

#define BUCKET_SHIFT 3 /* 8 bytes of text */
#define HEAD         2 /* words before the first bucket */

static uint32_t *bucket; /* a counter each; atomics */
static size_t nbuckets;
static struct mutex lock = MUTEX("kprof", lock); /* of who turns it on or off */
/* Samples that were skipped while the profiler was on, since startclr. */
static struct skips skips GUARDED_BY(lock);
/* Each sample adds 1 to a bucket or to one of these two; atomics, too. */
static uint32_t user_ticks;
static uint32_t other_ticks; /* of the kernel, outside of its text */

/*
 * The sampler calls this with SIE=0, on any number of harts at once. If the pc
 * is below kernel text, the unsigned difference is very large. So one
 * comparison is enough to find a pc on either side of the text. The mode must
 * be tested first: a synthetic sample in user mode may have any pc.
 */
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

/* linker.ld aligns the end of text, so the last bucket has all its 8 bytes. */
static void
kprof_init(void)
{
	nbuckets = (etext - text_start) >> BUCKET_SHIFT;
	bucket = kzalloc(nbuckets * sizeof(*bucket));
	if (!bucket)
		panic("no memory for kprof");
}

/*
 * The functions for the words of kpctl. start and stop leave the counters as
 * they are. sample_disarm waits until every hart has left the sampler, so no
 * hart is still counting when stop returns.
 */
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

/* Disarmed first, so that no hart counts while the counters are cleared. */
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

/*
 * Returns word i of kpdata. Words 0 and 1 each take a pass over all buckets. If
 * they were counters instead, each sample would need up to two more atomics.
 */
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
	return device_read_text(f, u, text, n);
}

/*
 * kpdata can be read like an ordinary file: any offset, any length, even from
 * the middle of a word. Words are computed in chunks. `skip' is how many bytes
 * of the first word lie before the offset. uio_to advances the offset.
 */
static ssize_t
kprof_read(struct vnode *v, struct file *f, struct uio *u)
{
	off_t size = kprof_size(device_id(v));
	ssize_t total = 0;
	uint32_t chunk[128];

	if (device_id(v) == KPCTL)
		return kpctl_read(f, u);
	while (u->left && u->offset < size) {
		size_t first = u->offset / 4, skip = u->offset % 4;
		size_t n = size / 4 - first;
		ssize_t moved;

		if (n > ARRAY_SIZE(chunk))
			n = ARRAY_SIZE(chunk);
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
	return device_id(v) == KPCTL ? ctl_write(u, words) : -EINVAL;
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
