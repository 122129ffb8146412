/*
 * sum: how many samples there were of each mode, on all harts together.
 *
 * Each hart has counters of its own, in a cache line of its own. Nobody else
 * stores there, so a sample takes no atomic addition, and no hart waits for
 * another's cache line. Readers pay for that: they add up the counters of all
 * harts. What is more than one mode's is added up there, too.
 *
 * For the same reason a clear can't store a 0 there. It notes what the counters
 * have, and a read subtracts that.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lab.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/lock.h"

#include "sample.h"

#define MODES 4
#define LINE  64 /* bytes of a cache line */

/* The modes of each total, in the file's order. */
static const unsigned int totals[] = {LAB_TOTALS};

#define SIZE (ARRAY_SIZE(totals) * LAB_UNIT) /* of the file */

/* A hart's. They only grow. */
static struct {
	uint64_t of[MODES];
} __attribute__((aligned(LINE))) counts[HART_MAX];

static struct mutex lock = MUTEX("sum", lock); /* of who reads or clears */
/* The sums of all harts' counts when they were cleared, or taken. */
static uint64_t gone[MODES] GUARDED_BY(lock);

/*
 * The sampler calls this with SIE=0: so nothing comes between the load and the
 * store on this hart, and no other hart stores here. It is the hart that
 * executes this which matters; a synthetic sample can be of another one.
 */
static void
sum_count(const struct sample *s)
{
	uint64_t *n = &counts[this_hart()->id].of[s->mode];

	__atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
}

struct profiler sum_profiler = {.armed = 1, .count = sum_count};

/* What all harts have counted. What comes in meanwhile is in this sum or in the
 * next one. */
static void
sum_all(uint64_t sum[MODES])
{
	memset(sum, 0, MODES * sizeof(*sum));
	for (unsigned int i = 0; i < nharts; i++)
		for (int m = 0; m < MODES; m++)
			sum[m] += __atomic_load_n(&counts[i].of[m],
						  __ATOMIC_RELAXED);
}

/* Store a total as the file shows it. */
static void
sum_show(char *to, uint64_t n)
{
	unsigned int base = LAB_TEXT ? 10 : 256;
	int digits = LAB_UNIT - LAB_TEXT;

	for (int i = 0; i < digits; i++, n /= base) {
		char digit = LAB_TEXT ? '0' + n % base : n % base;

		if (LAB_TEXT && i > 0 && n == 0)
			digit = LAB_PAD;
		to[LAB_TEXT || LAB_BIG ? digits - 1 - i : i] = digit;
	}
	if (LAB_TEXT)
		to[digits] = '\n';
}

/* The file, from the sums that a read has found. */
static void
sum_file(char file[SIZE], const uint64_t now[MODES])
{
	must_hold(&lock);
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		uint64_t n = 0;

		for (int m = 0; m < MODES; m++)
			if (totals[i] & 1 << m)
				n += now[m] - gone[m];
		sum_show(file + i * LAB_UNIT, n);
	}
}

/* What is taken is what was shown: the same sums. So the samples that come
 * between are left for the next read. */
static ssize_t
sum_read(struct vnode *, struct file *, struct uio *u)
{
	size_t at = u->offset;
	uint64_t now[MODES];
	char file[SIZE];
	ssize_t r;

	if (LAB_TAKES ? at > 0 : at >= SIZE)
		return 0;
	if (LAB_TAKES && u->left < SIZE)
		return -EINVAL;
	mutex_lock(&lock);
	sum_all(now);
	sum_file(file, now);
	r = uio_to(u, file + at, SIZE - at);
	if (LAB_TAKES && r > 0)
		memcpy(gone, now, sizeof(gone));
	mutex_unlock(&lock);
	return r;
}

static int
sum_clear(char **)
{
	mutex_lock(&lock);
	sum_all(gone);
	mutex_unlock(&lock);
	return 0;
}

static const struct ctlword words[] = {
    {.name = LAB_WORD, .run = sum_clear},
    {0},
};

static ssize_t
sum_write(struct vnode *, struct file *, struct uio *u)
{
	if (LAB_BY_WORD)
		return ctl_write(u, words);
	sum_clear(NULL);
	return u->left;
}

static off_t
sum_size(unsigned int)
{
	return SIZE;
}

static const struct devfile files[] = {
    {.name = "sum", .mode = 0600},
    {0},
};

const struct device sum_device = {
    .files = files,
    .ops.read = sum_read,
    .ops.write = sum_write,
    .size = sum_size,
};
