/*
 * range: counts samples by ranges of addresses, which a program chooses.
 *
 * A write to /dev/range brings a table of ranges; a read returns the counters.
 * The table is sorted when it is written, and the sampler finds a pc's range by
 * bisection: some 13 steps for 8,192 ranges. A table that is in use is never
 * changed. A new one takes its place by one store, and the old one is freed
 * once no hart is in the sampler that may have seen it.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lab.h"
#include "mm/kmalloc.h"
#include "sched/lock.h"

#include "range.h"
#include "sample.h"

/* What a sample of user mode does. */
enum { BY_PC, MISSED, NOWHERE };

/* A range of the table, by ascending addresses; `place' is its counter. */
struct range {
	uint64_t from, last;
	size_t place;
};

struct table {
	size_t n, missed;      /* ranges; the counter of what is in none */
	struct range *range;   /* n of them, sorted */
	LAB_COUNTER counter[]; /* n + 1, atomics, in the file's order */
};

static struct table *table;                      /* atomic; NULL: none yet */
static struct mutex lock = MUTEX("range", lock); /* of who replaces it */

/* The last range that begins at pc or below it is the only one that pc can be
 * in. Below `low' all do, and from `high' on none. */
static size_t
place_of(const struct table *t, uint64_t pc)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->range[middle].from <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || pc > t->range[low - 1].last)
		return t->missed;
	return t->range[low - 1].place;
}

/* The sampler calls this with SIE=0, on any number of harts at once. */
static void
range_count(const struct sample *s)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	size_t place;

	if (s->mode == SAMPLE_USER && LAB_USER == NOWHERE)
		return;
	place = t->missed;
	if (s->mode != SAMPLE_USER || LAB_USER == BY_PC)
		place = place_of(t, s->pc);
	__atomic_add_fetch(&t->counter[place], 1, __ATOMIC_RELAXED);
}

struct profiler range_profiler = {.count = range_count};

static void
table_free(struct table *t)
{
	if (t != NULL)
		kfree(t->range);
	kfree(t);
}

static struct table *
table_alloc(size_t n)
{
	struct table *t = kzalloc(sizeof(*t) + (n + 1) * sizeof(LAB_COUNTER));

	if (t == NULL)
		return NULL;
	t->n = n;
	t->missed = LAB_MISSED_FIRST ? 0 : n;
	t->range = kmalloc((n + 1) * sizeof(*t->range));
	if (t->range == NULL) {
		kfree(t);
		return NULL;
	}
	return t;
}

/* Shell's sort: an insertion sort of what lies `gap' apart, for smaller gaps
 * each time. For 8,192 ranges it takes a fraction of the plain one's time. */
static void
table_sort(struct table *t)
{
	size_t gap = t->n;

	while (gap > 1) {
		gap = gap < 5 ? 1 : gap * 5 / 11;
		for (size_t i = gap; i < t->n; i++) {
			struct range r = t->range[i];
			size_t at = i;

			for (; at >= gap && t->range[at - gap].from > r.from;
			     at -= gap)
				t->range[at] = t->range[at - gap];
			t->range[at] = r;
		}
	}
}

/* Take the records from u, and check each, and then all: 0 or an errno. */
static int
table_fill(struct table *t, struct uio *u)
{
	for (size_t i = 0; i < t->n; i++) {
		struct range_record r;
		ssize_t moved = uio_from(u, &r, sizeof(r));

		if (moved < 0)
			return moved;
		if (LAB_NO_ADDRESS(&r))
			return -LAB_NONE;
		t->range[i] = (struct range){r.from, LAB_LAST(&r),
					     i + LAB_MISSED_FIRST};
	}
	table_sort(t);
	for (size_t i = 1; i < t->n; i++)
		if (t->range[i].from <= t->range[i - 1].last)
			return -LAB_TWICE;
	return 0;
}

/* When sample_settle returns no hart uses the old table any more: who enters
 * the sampler later finds the new one. */
static void
table_replace(struct table *t)
{
	struct table *old;

	mutex_lock(&lock);
	old = table;
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	if (old == NULL)
		sample_arm(&range_profiler);
	sample_settle();
	mutex_unlock(&lock);
	table_free(old);
}

static ssize_t
range_write(struct vnode *, struct file *, struct uio *u)
{
	size_t size = u->left, n = size / sizeof(struct range_record);
	struct table *t;
	int r;

	if (size % sizeof(struct range_record) != 0 || (n == 0 && !LAB_CLEARS))
		return -EINVAL;
	if (n > RANGES)
		return -E2BIG;
	t = table_alloc(n);
	if (t == NULL)
		return -ENOMEM;
	r = table_fill(t, u);
	if (r < 0) {
		table_free(t);
		return r;
	}
	table_replace(t);
	return size;
}

/* The lock keeps the table from being replaced. Counters are moved some at a
 * time, as user memory may fault. */
static ssize_t
range_read(struct vnode *, struct file *, struct uio *u)
{
	size_t width = sizeof(LAB_COUNTER), total = 0;
	LAB_COUNTER chunk[64];
	ssize_t moved = 0;

	if (u->offset % width != 0 || u->left % width != 0)
		return -EINVAL;
	mutex_lock(&lock);
	while (table != NULL && u->left > 0 && moved >= 0 &&
	       (size_t)u->offset / width <= table->n) {
		size_t first = u->offset / width, n = 0;

		while (n < ARRAY_SIZE(chunk) && first + n <= table->n) {
			chunk[n] = __atomic_load_n(&table->counter[first + n],
						   __ATOMIC_RELAXED);
			n++;
		}
		moved = uio_to(u, chunk, n * width);
		if (moved > 0)
			total += moved;
	}
	mutex_unlock(&lock);
	return moved < 0 ? moved : (ssize_t)total;
}

static const struct devfile files[] = {
    {.name = "range", .mode = 0600},
    {0},
};

const struct device range_device = {
    .files = files,
    .ops.read = range_read,
    .ops.write = range_write,
};
