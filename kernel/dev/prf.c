/*
 * prf, the kernel profiler of DG/UX: prf(7) there, prf(4) here.
 *
 * A minor of the device is a table: N kernel addresses in ascending order, a
 * counter for each, one for user mode and one for idling. /dev/prf0.. count
 * the samples of a hart each, /dev/prf those of all harts. <sys/prf.h> has
 * what read, write and ioctl do.
 *
 * A sample goes into the tables of its hart and of all harts, if they are on:
 * a binary search and an atomic each. What the sampler reads changes only
 * while the table is off and no hart is in the sampler any more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prf.h>

#include "../hart.h"
#include "../print.h"
#include "../sample.h"
#include "dev.h"

#define WORD        sizeof(unsigned long)
#define TABLE_SIZE  ((size_t)256 << 10)
#define ADDRESS_MIN 3
#define ADDRESS_MAX ((TABLE_SIZE / WORD - 2) / 2)

struct table {
	bool on;  /* atomic; the rest stays as it is meanwhile */
	size_t n; /* addresses; 0: no valid ones, and it can't be on */
	/* n addresses, then n + 2 counters, which are atomics. NULL until the
	 * first write; then of TABLE_SIZE, and kept: it isn't freed in use. */
	unsigned long *word;
};

/* By minor: a hart's logical number, or PRF_ALL. */
static struct table tables[PRF_ALL + 1];
static struct mutex lock = MUTEX("prf", lock); /* guards all of them */

/* The counter of the largest address not above pc, the last of equal ones; a
 * pc below all belongs to the first. */
static size_t
prf_search(const struct table *t, unsigned long pc)
{
	size_t low = 0, high = t->n;

	while (high - low > 1) { /* low is 0 or its address <= pc < high's */
		size_t middle = (low + high) / 2;

		if (t->word[middle] <= pc)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void
table_count(struct table *t, const struct sample *s)
{
	size_t i;

	if (!__atomic_load_n(&t->on, __ATOMIC_ACQUIRE))
		return;
	if (s->mode == SAMPLE_USER)
		i = t->n;
	else if (s->mode == SAMPLE_IDLE)
		i = t->n + 1;
	else
		i = prf_search(t, s->pc);
	__atomic_add_fetch(&t->word[t->n + i], 1, __ATOMIC_RELAXED);
}

static void
prf_count(const struct sample *s)
{
	table_count(&tables[s->hart], s);
	table_count(&tables[PRF_ALL], s);
}

/* armed is how many tables are on. */
struct profiler prf_profiler = {.count = prf_count};

/*
 * Turn t on or off. When it is off no hart counts in it any more, while the
 * others lose no sample. lock is held.
 */
static void
prf_switch(struct table *t, bool on)
{
	if (on == t->on || t->n == 0)
		return;
	__atomic_store_n(&t->on, on, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&prf_profiler.armed, on ? 1 : -1, __ATOMIC_SEQ_CST);
	if (!on)
		sample_settle();
}

/* n addresses of u's into t, which is off. lock is held, and comes before an
 * address space's: u's pages may fault. */
static int
prf_load(struct table *t, struct uio *u, size_t n)
{
	if (!t->word && page_spare(TABLE_SIZE / PAGE_SIZE, LEFT_BY_PROGRAMS))
		t->word = kmalloc(TABLE_SIZE);
	if (!t->word)
		return -ENOMEM;
	t->n = 0; /* what was there is lost, whatever happens now */
	if (uio_from(u, t->word, n * WORD) < 0)
		return -EFAULT;
	for (size_t i = 1; i < n; i++)
		if (t->word[i] < t->word[i - 1])
			return -EINVAL;
	memset(t->word + n, 0, (n + 2) * WORD);
	t->n = n;
	return 0;
}

static ssize_t
prf_write(struct vnode *v, struct file *, struct uio *u)
{
	struct table *t = &tables[dev_id(v)];
	size_t size = u->left;
	int r;

	if (size / WORD > ADDRESS_MAX)
		return -ENOSPC;
	if (size / WORD < ADDRESS_MIN || size % WORD != 0)
		return -E2BIG;
	mutex_lock(&lock);
	r = t->on ? -EBUSY : prf_load(t, u, size / WORD);
	mutex_unlock(&lock);
	return r < 0 ? r : (ssize_t)size;
}

/* From the start, at any offset. It may be on: counters go on meanwhile. */
static ssize_t
prf_read(struct vnode *v, struct file *, struct uio *u)
{
	struct table *t = &tables[dev_id(v)];
	ssize_t r = -ENXIO;

	mutex_lock(&lock);
	if (t->n > 0)
		r = uio_to(u, t->word, (2 * t->n + 2) * WORD);
	mutex_unlock(&lock);
	return r;
}

static int
prf_ioctl(struct vnode *v, struct file *, unsigned int cmd, uintptr_t arg)
{
	struct table *t = &tables[dev_id(v)];
	int size, status, max = ADDRESS_MAX;

	mutex_lock(&lock);
	if (cmd == PRF_SETSTATE)
		prf_switch(t, arg & PRF_ON);
	size = t->n;
	status = (t->on ? PRF_ON : 0) | (t->n > 0 ? PRF_VALID : 0);
	mutex_unlock(&lock);
	switch (cmd) {
	case PRF_SETSTATE:
		return 0;
	case PRF_GETSTATUS:
		return copy_out(arg, &status, sizeof(status));
	case PRF_GETSIZE:
		return copy_out(arg, &size, sizeof(size));
	case PRF_GETMAX:
		if (arg != 0 && copy_out(arg, &max, sizeof(max)) < 0)
			return -EFAULT;
		return max;
	default:
		return -EINVAL;
	}
}

static struct devfile files[2 + HART_MAX + 1] = {
    {.name = "prf", .id = PRF_ALL, .mode = 0600},
    {.name = "prf255", .id = PRF_ALL, .mode = 0600},
};

static void
prf_init(void)
{
	static char names[HART_MAX][sizeof("prf15")];

	for (unsigned int i = 0; i < nharts; i++) {
		snprintf(names[i], sizeof(names[i]), "prf%u", i);
		files[2 + i] = (struct devfile){names[i], i, 0600};
	}
}

/* prf and another minor number, as digits without a zero in front. */
static int
prf_missing(const char *name)
{
	char proper[sizeof("prf255")];
	uint64_t minor;

	if (strncmp(name, "prf", 3) != 0 ||
	    ctl_number(name + 3, PRF_ALL, &minor) != 0)
		return -ENOENT;
	snprintf(proper, sizeof(proper), "prf%lu", minor);
	return strcmp(name, proper) == 0 ? -ENXIO : -ENOENT;
}

const struct device prf_device = {
    .files = files,
    .init = prf_init,
    .missing = prf_missing,
    .ops.read = prf_read,
    .ops.write = prf_write,
    .ops.ioctl = prf_ioctl,
};
