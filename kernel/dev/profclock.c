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
 *	               MODE is user, kernel, intr or idle
 *
 * Reading says what is set. While held, every byte that the profilers' devices
 * give is known in advance.
 */
#include <errno.h>
#include <string.h>

#include "../clock.h"
#include "../print.h"
#include "../proc/proc.h"
#include "../sample.h"
#include "dev.h"

#define HZ_MAX    20000
#define LEVEL_MAX 7

static ssize_t
profclock_read(struct file *, unsigned int, struct uio *u)
{
	char text[128];
	unsigned long late = 0;
	int n;

	for (unsigned int i = 0; i < nharts; i++)
		late += harts[i].late_samples;
	n = ksnprintf(text, sizeof(text),
		      "hz %u\njitter %s\nseed %lu\n%s\nlate %lu\n",
		      profclock.hz, profclock.jitter ? "on" : "off",
		      profclock.seed, sample_held() ? "hold" : "go", late);
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

static int
sample_mode(const char *word)
{
	static const char *const names[] = {
	    [SAMPLE_USER] = "user",
	    [SAMPLE_KERNEL] = "kernel",
	    [SAMPLE_KERNELI] = "intr",
	    [SAMPLE_IDLE] = "idle",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	return -EINVAL;
}

/* The process group of pid; 0: there is no such process. */
static pid_t
group_of(pid_t pid)
{
	struct proc *p;
	pid_t pgrp;

	spin_lock(&proc_tree_lock);
	p = proc_find(pid);
	pgrp = p ? p->pgrp : 0;
	spin_unlock(&proc_tree_lock);
	return pgrp;
}

/* The arguments of `sample` after the mode, with what each may be at most. */
enum { HART, PID, LEVEL, PC, COUNT, NARGS };

static int
make_samples(char **argv)
{
	const uint64_t max[NARGS] = {nharts - 1, PID_MAX, LEVEL_MAX, UINT64_MAX,
				     1000000};
	uint64_t arg[NARGS] = {[COUNT] = 1};
	int mode = sample_mode(argv[1]);
	struct sample s;

	if (mode < 0)
		return mode;
	for (int i = 0; argv[2 + i]; i++)
		if (ctl_number(argv[2 + i], max[i], &arg[i]) != 0)
			return -EINVAL;
	s = (struct sample){
	    .mode = mode,
	    .pc = arg[PC],
	    .ipl = arg[LEVEL],
	    .hart = arg[HART],
	    .pid = arg[PID],
	    .pgrp = group_of(arg[PID]),
	};
	while (arg[COUNT]--) { /* as the clock does it: with SIE=0 */
		csr_clear(sstatus, SSTATUS_SIE);
		sample(&s, false);
		csr_set(sstatus, SSTATUS_SIE);
	}
	return 0;
}

static const struct ctlword words[] = {
    {.name = "hz", .run = set_hz, .min = 1, .max = 1},
    {.name = "jitter", .run = set_jitter, .min = 1, .max = 1},
    {.name = "seed", .run = set_seed, .min = 1, .max = 1},
    {.name = "hold", .run = hold_or_go},
    {.name = "go", .run = hold_or_go},
    {.name = "sample", .run = make_samples, .min = NARGS, .max = NARGS + 1},
    {0},
};

static ssize_t
profclock_write(struct file *, unsigned int, struct uio *u)
{
	return ctl_write(u, words);
}

static const struct devfile files[] = {
    {.name = "profclock", .mode = 0600},
    {0},
};

const struct device profclock_device = {
    .files = files,
    .read = profclock_read,
    .write = profclock_write,
};
