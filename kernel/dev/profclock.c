/*
 * /dev/profclock: the sampling clock's settings, as text.
 *
 *	hz N           samples a second on each hart, 1 to 20000
 *	jitter on|off  random intervals whose mean is 1/hz
 *	seed N         where the random intervals start
 *	hold           take no real samples from now on
 *	go             take them again
 *	sample MODE HART PID LEVEL PC [COUNT]
 *	               hand a made-up sample to the profilers, COUNT times;
 *	               MODE is user, kernel, intr or idle: debug/samples.c
 *
 * Reading says what is set. While held, every byte that the profilers' devices
 * give is known in advance.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../clock.h"
#include "../hart.h"
#include "../sample.h"
#include "dev.h"

#define HZ_MAX 20000

static ssize_t
profclock_read(struct vnode *, struct file *, struct uio *u)
{
	char text[128];
	unsigned long late = 0;
	int n;

	for (unsigned int i = 0; i < nharts; i++)
		late += harts[i].late_samples;
	n = snprintf(text, sizeof(text),
		     "hz %u\njitter %s\nseed %lu\n%s\nlate %lu\n", profclock.hz,
		     profclock.jitter ? "on" : "off", profclock.seed,
		     sample_held() ? "hold" : "go", late);
	return dev_read_buffer(u, text, n);
}

/* A setting has changed: the harts follow the generation. There is no lock, as
 * each setting is one word of its own. */
static int
changed(void)
{
	__atomic_add_fetch(&profclock.generation, 1, __ATOMIC_RELEASE);
	return 0;
}

static int
set_hz(char **argv)
{
	uint64_t hz;

	if (ctl_number(argv[1], HZ_MAX, &hz) != 0 || hz == 0)
		return -EINVAL;
	profclock.hz = hz;
	return changed();
}

static int
set_jitter(char **argv)
{
	bool on = strcmp(argv[1], "on") == 0;

	if (!on && strcmp(argv[1], "off") != 0)
		return -EINVAL;
	profclock.jitter = on;
	return changed();
}

static int
set_seed(char **argv)
{
	if (ctl_number(argv[1], UINT64_MAX, &profclock.seed) != 0)
		return -EINVAL;
	return changed();
}

static int
hold_or_go(char **argv)
{
	sample_hold(strcmp(argv[0], "hold") == 0);
	return 0;
}

static const struct ctlword words[] = {
    {.name = "hz", .run = set_hz, .min = 1, .max = 1},
    {.name = "jitter", .run = set_jitter, .min = 1, .max = 1},
    {.name = "seed", .run = set_seed, .min = 1, .max = 1},
    {.name = "hold", .run = hold_or_go},
    {.name = "go", .run = hold_or_go},
    {.name = "sample", .run = samples_make, .min = 5, .max = 6},
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
