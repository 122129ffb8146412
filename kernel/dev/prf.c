/*
 * prf, the kernel profiler of DG/UX: prf(7) there, prf(4) here.
 *
 * A program writes N kernel addresses in ascending order, such as those of all
 * functions. Each address gets a counter of the samples from that address to
 * the next; two more counters are for user mode and for idle harts. All this is
 * a table. Each minor number has its own: /dev/prf0, /dev/prf1 and so on count
 * the samples of one hart each, /dev/prf those of all harts. <sys/prf.h>
 * describes read, write and ioctl.
 *
 * The sampler counts a sample in the table of its hart and in the table of all
 * harts, if they are on. Each takes a binary search and one atomic addition,
 * but no lock. No lock is needed because the addresses change only while the
 * table is off, and prf_switch, which turns it off, waits until every hart has
 * left the sampler.
 *
 * Read the sampler's part first, from prf_search to prf_count, then prf_switch
 * and prf_load, and then the operations of the device.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prf.h>

#include "base/layout.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lib/number.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/lock.h"

#include "sample.h"

#define WORD        sizeof(unsigned long)
#define TABLE_SIZE  ((size_t)256 << 10)
#define ADDRESS_MIN 3
#define ADDRESS_MAX ((TABLE_SIZE / WORD - 2) / 2) /* 16383 */

struct table {
	bool on;  /* atomic; while it is set, only counters change */
	size_t n; /* number of addresses; 0: not valid, so it can't be on */
	/*
	 * n addresses, then n + 2 counters, which are atomics. With n = 3,
	 * word[0..2] are addresses, word[3..5] their counters, word[6] counts
	 * user mode, and word[7] idle harts. NULL until the first write, which
	 * allocates TABLE_SIZE bytes. They are kept from then on, so that they
	 * aren't freed while in use.
	 */
	unsigned long *word;
};

/* The index is the minor number: a hart's logical number, or PRF_ALL. */
static struct table tables[PRF_ALL + 1];
static struct mutex lock = MUTEX("prf", lock); /* guards all of them */

/*
 * Returns the index of the largest address that isn't above pc; of equal ones,
 * the last. A pc below all addresses belongs to the first. For example, if the
 * addresses are 10, 20, 20 and 30, pc 5 belongs to index 0, and pc 25 to 2.
 */
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

/*
 * Called with SIE=0. The acquire keeps the loads of n and the addresses after
 * that of `on': a sampler that finds t on sees all that prf_load has stored.
 */
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

/* `armed' counts the tables that are on; at 0 the sampler doesn't call prf. */
struct profiler prf_profiler = {.count = prf_count};

/*
 * Turn t on or off. Without valid addresses this does nothing. Once t has been
 * turned off, no hart counts in it any more, as sample_settle has waited until
 * every hart left the sampler. Other tables stay on meanwhile, and lose no
 * sample. The caller must hold lock.
 */
static void
prf_switch(struct table *t, bool on)
{
	must_hold(&lock);
	if (on == t->on || t->n == 0)
		return;
	__atomic_store_n(&t->on, on, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&prf_profiler.armed, on ? 1 : -1, __ATOMIC_SEQ_CST);
	if (!on)
		sample_settle();
}

/*
 * Load n addresses from u into t, which must be off, and set its counters to 0.
 * Returns 0 or a negative errno. After -ENOMEM, t is as it was. After -EFAULT
 * or -EINVAL, it has no valid addresses. The caller must hold lock. User memory
 * may fault meanwhile, so lock comes before aspace.lock in the lock order.
 */
static int
prf_load(struct table *t, struct uio *u, size_t n)
{
	must_hold(&lock);
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

/* The order of the tests is that of the errors in prf(4). No offset is used. */
static ssize_t
prf_write(struct vnode *v, struct file *, struct uio *u)
{
	struct table *t = &tables[device_id(v)];
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

/* From the start, whatever the offset. If t is on, it goes on counting. */
static ssize_t
prf_read(struct vnode *v, struct file *, struct uio *u)
{
	struct table *t = &tables[device_id(v)];
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
	struct table *t = &tables[device_id(v)];
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

/* prf_init adds one file for each hart. A zero element remains at the end. */
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
		files[2 + i] = (struct devfile){
		    .name = names[i], .id = i, .mode = 0600};
	}
}

/*
 * Returns the errno of open for a name that is none of these files: ENXIO for a
 * minor number without a hart, ENOENT for any other name. On two harts, for
 * example, prf7 is ENXIO, but prf07 and prf256 are ENOENT.
 */
static int
prf_missing(const char *name)
{
	char proper[sizeof("prf255")];
	uint64_t minor;

	if (strncmp(name, "prf", 3) != 0 ||
	    number_parse(name + 3, PRF_ALL, &minor) != 0)
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
