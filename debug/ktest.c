/*
 * /dev/ktest: makes the kernel do what it never should, or what a profile is
 * to show. For tests and courses; only written, one line at a time:
 *
 *   spin LEVEL MICROSECONDS  run at level 0, 1 or 5 for that long, in the
 *                            function ktest_spin_levelN
 *   panic [WORD..]           panic with these words
 *   fault                    read from an address that isn't mapped
 *   overflow                 recurse until the kernel stack is full
 *   deadlock                 take a spinlock that this hart holds
 *
 * The debug build has more: CHECK_WORDS.
 */
#include <checks.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dev/dev.h"
#include "level.h"
#include "machine.h"
#include "print.h"
#include "thread.h"

#define SPIN_MAX    10000000 /* microseconds */
#define BAD_ADDRESS 8

/* One function for each level, that a profile can tell them apart: the loop
 * is inside, and the compiler must not merge or rename them. */
static inline __attribute__((always_inline)) void
spin(unsigned long mask, uint64_t end)
{
	unsigned long sie = level_raise(mask);

	while (rdtime() < end)
		;
	level_lower(sie);
}

static __attribute__((noipa)) void
ktest_spin_level0(uint64_t end)
{
	spin(0, end);
}

static __attribute__((noipa)) void
ktest_spin_level1(uint64_t end)
{
	spin(LEVEL1_MASK, end);
}

static __attribute__((noipa)) void
ktest_spin_level5(uint64_t end)
{
	spin(LEVEL5_MASK, end);
}

static void (*const spins[])(uint64_t end) = {
    [0] = ktest_spin_level0,
    [1] = ktest_spin_level1,
    [5] = ktest_spin_level5,
};

static int
run_spin(char **argv)
{
	uint64_t level, us;

	if (ctl_number(argv[1], 5, &level) != 0 || !spins[level] ||
	    ctl_number(argv[2], SPIN_MAX, &us) != 0)
		return -EINVAL;
	spins[level](rdtime() + us * machine.timebase / 1000000);
	return 0;
}

static int
run_panic(char **argv)
{
	char text[128] = "";
	size_t n = 0;

	while (*++argv && n < sizeof(text))
		n += snprintf(text + n, sizeof(text) - n, " %s", *argv);
	panic("as asked:%s", text);
}

static int
run_fault(char **)
{
	const volatile int *volatile nothing = (const int *)BAD_ADDRESS;

	return *nothing;
}

/* Frames of some size, that the compiler can't turn into a loop. */
static __attribute__((noipa)) int
ktest_recurse(int depth)
{
	volatile char room[128];

	room[0] = depth;
	if (depth == 0)
		return 0;
	return ktest_recurse(depth - 1) + room[0];
}

static int
run_overflow(char **)
{
	return ktest_recurse(KSTACK_SIZE);
}

static int
run_deadlock(char **)
{
	static struct spinlock lock = SPINLOCK1("ktest");

	spin_lock(&lock);
	spin_lock(&lock);
	return 0;
}

static const struct ctlword words[] = {
    {.name = "spin", .run = run_spin, .min = 2, .max = 2},
    {.name = "panic", .run = run_panic, .max = CTL_ARGS},
    {.name = "fault", .run = run_fault},
    {.name = "overflow", .run = run_overflow},
    {.name = "deadlock", .run = run_deadlock},
    CHECK_WORDS, /* and {0} */
};

static ssize_t
ktest_write(struct file *, unsigned int, struct uio *u)
{
	return ctl_write(u, words);
}

static const struct devfile files[] = {
    {.name = "ktest", .mode = 0200},
    {0},
};

const struct device ktest_device = {
    .files = files,
    .write = ktest_write,
};
