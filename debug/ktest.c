/*
 * /dev/ktest: makes the kernel do what it never should, or what a profile is
 * to show. For tests and courses; written one line at a time:
 *
 *   spin LEVEL MICROSECONDS [ROUNDS]
 *                   run at level 0, 1 or 5 for that long, but not for more
 *                   rounds of a loop, in the function ktest_spin_levelN
 *   panic [WORD..]  panic with these words
 *   fault           read from an address that isn't mapped
 *   overflow        recurse until the kernel stack is full
 *   deadlock        take a spinlock that this hart holds
 *   failalloc N     have the Nth allocation from now on fail that the writing
 *                   thread's system calls make; 0: none
 *
 * Read, it says how many blocks of memory are in use, and how many allocations
 * are still to come before one fails.
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
#include "mm/page.h"
#include "print.h"
#include "proc/proc.h"

#define SPIN_MAX    10000000 /* microseconds */
#define BAD_ADDRESS 8

/* One function for each level, that a profile can tell them apart: the loop
 * is inside, and the compiler must not merge or rename them. */
static inline __attribute__((always_inline)) void
spin(unsigned long mask, uint64_t end, uint64_t rounds)
{
	unsigned long sie = level_raise(mask);

	while (rounds-- > 0 && rdtime() < end)
		;
	level_lower(sie);
}

static __attribute__((noipa)) void
ktest_spin_level0(uint64_t end, uint64_t rounds)
{
	spin(0, end, rounds);
}

static __attribute__((noipa)) void
ktest_spin_level1(uint64_t end, uint64_t rounds)
{
	spin(LEVEL1_MASK, end, rounds);
}

static __attribute__((noipa)) void
ktest_spin_level5(uint64_t end, uint64_t rounds)
{
	spin(LEVEL5_MASK, end, rounds);
}

static void (*const spins[])(uint64_t end, uint64_t rounds) = {
    [0] = ktest_spin_level0,
    [1] = ktest_spin_level1,
    [5] = ktest_spin_level5,
};

static int
run_spin(char **argv)
{
	uint64_t level, us, rounds = UINT64_MAX;

	if (ctl_number(argv[1], 5, &level) != 0 || !spins[level] ||
	    ctl_number(argv[2], SPIN_MAX, &us) != 0 ||
	    (argv[3] && ctl_number(argv[3], UINT64_MAX, &rounds) != 0))
		return -EINVAL;
	spins[level](rdtime() + us * machine.timebase / 1000000, rounds);
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

static struct thread *failing; /* whose allocations are counted; atomic */
static uint64_t until_failure; /* its own */

/* Page faults in user mode don't count: they are no part of a call. */
static bool
alloc_failure(void)
{
	return __atomic_load_n(&failing, __ATOMIC_RELAXED) == current &&
	       current->tf.scause == CAUSE_ECALL && until_failure != 0 &&
	       --until_failure == 0;
}

static int
run_failalloc(char **argv)
{
	uint64_t n;

	if (ctl_number(argv[1], UINT64_MAX, &n) != 0)
		return -EINVAL;
	alloc_fails = n != 0 ? alloc_failure : NULL;
	until_failure = n;
	__atomic_store_n(&failing, current, __ATOMIC_RELAXED);
	return 0;
}

/* Exact while nobody allocates. A page in use is a block, too. */
static unsigned long
count_blocks(void)
{
	unsigned long n = page_count_total() - page_count_free();

	for (size_t i = 0; i < page_array_length; i++)
		if (page_array[i].use == PAGE_SMALL)
			n += page_array[i].used - 1;
	return n;
}

static const struct ctlword words[] = {
    {.name = "spin", .run = run_spin, .min = 2, .max = 3},
    {.name = "panic", .run = run_panic, .max = CTL_ARGS},
    {.name = "fault", .run = run_fault},
    {.name = "overflow", .run = run_overflow},
    {.name = "deadlock", .run = run_deadlock},
    {.name = "failalloc", .run = run_failalloc, .min = 1, .max = 1},
    CHECK_WORDS, /* and {0} */
};

static ssize_t
ktest_read(struct vnode *, struct file *f, struct uio *u)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "blocks %lu\nfailalloc %lu\n",
			 count_blocks(), until_failure);

	return dev_read_text(f, u, text, n);
}

static ssize_t
ktest_write(struct vnode *, struct file *, struct uio *u)
{
	return ctl_write(u, words);
}

static const struct devfile files[] = {
    {.name = "ktest", .mode = 0600},
    {0},
};

const struct device ktest_device = {
    .files = files,
    .ops.read = ktest_read,
    .ops.write = ktest_write,
};
