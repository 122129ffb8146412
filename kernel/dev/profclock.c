/*
 * /dev/profclock: the settings of the sampling clock, as text. The clock itself
 * is in sched/sampleclock.c. A write is one line:
 *
 *	hz N           samples a second on each hart, 1 to 20000
 *	jitter on|off  random intervals whose mean is 1/hz
 *	seed N         where the random intervals start
 *	hold           take no real samples from now on
 *	go             take them again
 *	sample MODE HART PID LEVEL PC [COUNT]
 *	               hand a synthetic sample to the profilers, COUNT times;
 *	               MODE is user, kernel, intr or idle: synthetic.c
 *
 * Reading returns the settings, the rate that was reached since the last
 * change, and how many samples fell due, were taken and were skipped since
 * boot: of all harts, and of each.
 *
 * Real and synthetic samples count alike. So with the clock on hold, synthetic
 * samples are the only ones, and every byte that the profilers' devices return
 * is known in advance.
 *
 * Each change of a setting ends with sampleclock_apply, which waits until all
 * harts follow it. So when a write returns, no hart uses the old setting.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lib/number.h"
#include "machine/machine.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"

#include "pcslog.h"
#include "sample.h"

#define HZ_MAX    20000
#define TEXT_SIZE 1280 /* sixteen harts with numbers of 15 digits */

/*
 * Held during each change of profclock, so that there is one at a time. It is a
 * mutex, as sampleclock_apply must be called at level 0. Reading takes no lock:
 * the settings and counts are independent numbers, each of which is loaded
 * whole.
 */
static struct mutex lock = MUTEX("profclock", lock);

/*
 * Samples taken per second, on the average of all harts, since the last change.
 * In that time hz samples a second fell due on each hart. For example, if hz is
 * 1000 and a quarter of the samples were skipped, the result is 750.
 */
static uint64_t
reached(void)
{
	uint64_t taken = 0, skipped = 0;

	for (unsigned int i = 0; i < nharts; i++) {
		const struct sampleclock *c = &harts[i].sampleclock;

		taken += c->taken - c->taken_before;
		skipped += c->skipped - c->skipped_before;
	}
	if (skipped == 0)
		return profclock.hz;
	return profclock.hz * taken / (taken + skipped);
}

/* Append to the text. */
#define say(...) (n += snprintf(text + n, sizeof(text) - n, __VA_ARGS__))

/*
 * The counts of each hart are loaded once, so the sums agree with the lines of
 * the harts even if samples are taken meanwhile. "due" is the sum of taken and
 * skipped, since each sample that falls due is one of the two.
 */
static ssize_t
profclock_read(struct vnode *, struct file *f, struct uio *u)
{
	uint64_t taken[HART_MAX], skipped[HART_MAX];
	uint64_t all_taken = 0, all_skipped = 0;
	char text[TEXT_SIZE];
	size_t n = 0;

	for (unsigned int i = 0; i < nharts; i++) {
		all_taken += taken[i] = harts[i].sampleclock.taken;
		all_skipped += skipped[i] = harts[i].sampleclock.skipped;
	}
	say("hz %u\njitter %s\nseed %lu\n%s\nreached %lu\n", profclock.hz,
	    profclock.jitter ? "on" : "off", profclock.seed,
	    profclock.held ? "hold" : "go", reached());
	say("due %lu\ntaken %lu\nskipped %lu\n", all_taken + all_skipped,
	    all_taken, all_skipped);
	for (unsigned int i = 0; i < nharts; i++)
		say("hart %u due %lu taken %lu skipped %lu\n", i,
		    taken[i] + skipped[i], taken[i], skipped[i]);
	return device_read_text(f, u, text, n);
}

static void
apply(void)
{
	sampleclock_apply();
	event_clock();
}

/* This, jitter and seed start a new series: the random intervals begin again
 * with the seed. So the same settings always lead to the same intervals. */
static int
set_hz(char **argv)
{
	uint64_t hz;

	if (number_parse(argv[1], HZ_MAX, &hz) != 0 || hz == 0)
		return -EINVAL;
	mutex_lock(&lock);
	profclock.hz = hz;
	profclock.series++;
	apply();
	mutex_unlock(&lock);
	return 0;
}

static int
set_jitter(char **argv)
{
	bool on = strcmp(argv[1], "on") == 0;

	if (!on && strcmp(argv[1], "off") != 0)
		return -EINVAL;
	mutex_lock(&lock);
	profclock.jitter = on;
	profclock.series++;
	apply();
	mutex_unlock(&lock);
	return 0;
}

static int
set_seed(char **argv)
{
	uint64_t seed;

	if (number_parse(argv[1], UINT64_MAX, &seed) != 0)
		return -EINVAL;
	mutex_lock(&lock);
	profclock.seed = seed;
	profclock.series++;
	apply();
	mutex_unlock(&lock);
	return 0;
}

/* This begins no new series: after "go" the random intervals continue where
 * they were. */
static int
hold_or_go(char **argv)
{
	mutex_lock(&lock);
	profclock.held = strcmp(argv[0], "hold") == 0;
	apply();
	mutex_unlock(&lock);
	return 0;
}

static const struct ctlword words[] = {
    {.name = "hz", .run = set_hz, .min = 1, .max = 1},
    {.name = "jitter", .run = set_jitter, .min = 1, .max = 1},
    {.name = "seed", .run = set_seed, .min = 1, .max = 1},
    {.name = "hold", .run = hold_or_go},
    {.name = "go", .run = hold_or_go},
    {.name = "sample", .run = synthetic_samples, .min = 5, .max = 6},
    {0},
};

static ssize_t
profclock_write(struct vnode *, struct file *, struct uio *u)
{
	return ctl_write(u, words);
}

static const struct devfile files[] = {
    {.name = "profclock", .mode = 0600},
    {0},
};

const struct device profclock_device = {
    .files = files,
    .ops.read = profclock_read,
    .ops.write = profclock_write,
};
