/*
 * /dev/ktest: makes the kernel do what it should never do, or something that is
 * to be seen in a profile. It is for tests and courses. A write is one line:
 *
 *   spin LEVEL MICROSECONDS [ROUNDS]
 *                   loop at level 0, 1 or 5 for this time, or for so many
 *                   rounds if that is shorter, in ktest_spin_levelN
 *   panic [WORD..]  panic with these words
 *   fault [ADDRESS] read from an address that isn't mapped, or from that one
 *   overflow        recurse until the kernel stack is full
 *   deadlock        take a spinlock that this hart holds
 *   embrace N       take one of two spinlocks, 0 or 1; once another hart has
 *                   the other, take that one, too
 *   hang            loop for ever, with a spinlock held
 *   forget          sleep on a wait queue that nobody will wake
 *   keep            take a mutex, and return without releasing it
 *   sleeplock       sleep with a spinlock held
 *   freetwice [BYTES]
 *                   free a block, and once more; of so many bytes, and alone in
 *                   its page
 *   failalloc N     of the allocations that the writing thread's system calls
 *                   make from now on, let the Nth fail; 0: none
 *
 * Reading returns how many blocks of memory are in use, and the number of the
 * allocation that is to fail, counted from now on (0: none).
 *
 * The debug build has more words: CHECK_WORDS.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lib/number.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/pages.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "check_words.h"

#define SPIN_MAX    10000000 /* microseconds */
#define BAD_ADDRESS 8

/* The loop is inlined into a function for each level, so that a profile shows
 * which it was. noipa keeps the compiler from merging or renaming these. */
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

	if (number_parse(argv[1], 5, &level) != 0 || !spins[level] ||
	    number_parse(argv[2], SPIN_MAX, &us) != 0 ||
	    (argv[3] && number_parse(argv[3], UINT64_MAX, &rounds) != 0))
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
	panic("requested by a test:%s", text);
}

static int
run_fault(char **argv)
{
	uint64_t address = BAD_ADDRESS;

	if (argv[1] && number_parse(argv[1], UINT64_MAX, &address) != 0)
		return -EINVAL;
	return *(const volatile int *)address;
}

/* Each call has a frame of at least 128 bytes, and still needs it afterwards,
 * so the compiler can't turn the recursion into a loop. */
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

/* UNGUARDED, as it takes a lock twice on purpose, which Clang would find. */
static UNGUARDED int
run_deadlock(char **)
{
	static struct spinlock lock = SPINLOCK1("ktest");

	spin_lock(&lock);
	spin_lock(&lock);
	return 0;
}

static UNGUARDED int
run_embrace(char **argv)
{
	static struct spinlock lock[] = {SPINLOCK1("ktest zero"),
					 SPINLOCK1("ktest one")};
	uint64_t first;

	if (number_parse(argv[1], 1, &first) != 0)
		return -EINVAL;
	spin_lock(&lock[first]);
	while (!__atomic_load_n(&lock[!first].held, __ATOMIC_RELAXED))
		;
	spin_lock(&lock[!first]);
	return 0;
}

static int __attribute__((noreturn)) run_hang(char **)
{
	static struct spinlock lock = SPINLOCK1("ktest");

	spin_lock(&lock);
	for (;;)
		;
}

static int
run_forget(char **)
{
	static struct spinlock lock = SPINLOCK1("ktest");
	struct waitq q = WAITQ_INIT(q);

	spin_lock(&lock);
	wait_uninterruptible(&q, &lock);
	spin_unlock(&lock);
	return 0;
}

static UNGUARDED int
run_keep(char **)
{
	static struct mutex m = MUTEX("ktest", m);

	mutex_lock(&m);
	return 0;
}

/* wait_on releases `lock', but `kept' is still held during the sleep. */
static UNGUARDED int
run_sleeplock(char **)
{
	static struct spinlock kept = SPINLOCK1("ktest kept"),
			       lock = SPINLOCK1("ktest");
	struct waitq q = WAITQ_INIT(q);

	spin_lock(&kept);
	spin_lock(&lock);
	wait_on(&q, &lock);
	return 0;
}

static int
run_freetwice(char **argv)
{
	uint64_t size = 64;
	void *block;

	if (argv[1] != NULL && number_parse(argv[1], 1 << 20, &size) != 0)
		return -EINVAL;
	block = kmalloc(size);
	if (argv[1] == NULL)
		kmalloc(size); /* else the page would be freed, too */
	kfree(block);
	kfree(block);
	return 0;
}

static struct thread *failing; /* whose allocations are counted; atomic */
static uint64_t until_failure; /* its own */

/* The allocators ask this about each allocation (alloc_fails). Those for page
 * faults of user mode don't count, as they are no part of a system call. */
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

	if (number_parse(argv[1], UINT64_MAX, &n) != 0)
		return -EINVAL;
	alloc_fails = n != 0 ? alloc_failure : NULL;
	until_failure = n;
	__atomic_store_n(&failing, current, __ATOMIC_RELAXED);
	return 0;
}

/*
 * How many blocks are in use. The number is exact while nobody allocates or
 * frees. Tests compare it before and after, to find memory that is never freed.
 * Each page in use counts as one block, but a page of kmalloc's small objects
 * as so many as there are objects in use.
 */
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
    {.name = "fault", .run = run_fault, .max = 1},
    {.name = "overflow", .run = run_overflow},
    {.name = "deadlock", .run = run_deadlock},
    {.name = "embrace", .run = run_embrace, .min = 1, .max = 1},
    {.name = "hang", .run = run_hang},
    {.name = "forget", .run = run_forget},
    {.name = "keep", .run = run_keep},
    {.name = "sleeplock", .run = run_sleeplock},
    {.name = "freetwice", .run = run_freetwice, .max = 1},
    {.name = "failalloc", .run = run_failalloc, .min = 1, .max = 1},
    CHECK_WORDS, /* and {0} */
};

static ssize_t
ktest_read(struct vnode *, struct file *f, struct uio *u)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "blocks %lu\nfailalloc %lu\n",
			 count_blocks(), until_failure);

	return device_read_text(f, u, text, n);
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
