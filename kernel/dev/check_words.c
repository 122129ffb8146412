/*
 * The words of /dev/ktest that only the debug build has. Each makes a mistake
 * that one of the checks must find: if the check works, the word ends in a
 * panic. Some functions are UNGUARDED, since Clang would find the mistake, too.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/print.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/lock.h"

#include "check_words.h"
#include "sample.h"

#define BLOCK 64 /* bytes, of a small block */

extern struct profiler kprof_profiler;

static struct spinlock first = SPINLOCK1("ktest first");
static struct spinlock second = SPINLOCK1("ktest second");

static void
in_order(struct spinlock *a, struct spinlock *b)
{
	spin_lock(a);
	spin_lock(b);
	spin_unlock(b);
	spin_unlock(a);
}

/* One after the other, on one hart: nobody waits. But two harts that did this
 * at the same time could deadlock. */
static void
lockorder(void)
{
	in_order(&first, &second);
	in_order(&second, &first);
}

/* A lock of level 1, wanted while one of level 5 is held. */
static void
locklevel(void)
{
	static struct spinlock outer = SPINLOCK5("ktest outer");

	in_order(&outer, &first);
}

/* The order of two locks is that of their names. So two locks of one name have
 * none. */
static void
locktwice(void)
{
	static struct spinlock twin[2];

	twin[0] = twin[1] = (struct spinlock)SPINLOCK1("ktest twin");
	in_order(&twin[0], &twin[1]);
}

static UNGUARDED void
mutexunderspin(void)
{
	static struct mutex m = MUTEX("ktest", m);

	spin_lock(&first);
	mutex_lock(&m);
}

static void
spinnotheld(void)
{
	spin_lock(&first);
	spin_unlock(&first);
	must_hold(&first);
}

static void
mutexnotheld(void)
{
	static struct mutex m = MUTEX("ktest", m);

	must_hold(&m);
}

/* The lock is still held when the system call returns. */
static UNGUARDED void
returnlocked(void)
{
	spin_lock(&first);
}

/* One byte behind the block, where nobody else's begins. */
static void
overrun(void)
{
	char *block = kmalloc(BLOCK);

	*(volatile char *)&block[BLOCK] = 0;
	kfree(block);
}

/* The damaged block is found when it is allocated again: at the latest when all
 * blocks of its page have been. */
static void
useafterfree(void)
{
	char *block = kmalloc(BLOCK);

	kfree(block);
	*(volatile char *)&block[BLOCK / 2] = 1;
	for (int i = 0; i < PAGE_SIZE / BLOCK; i++)
		kmalloc(BLOCK);
}

/* The hart's cache of pages (mm/page.c) hands out the last freed one first. */
static void
useafterpagefree(void)
{
	char *page = page_alloc();

	page_free(page);
	*(volatile char *)&page[PAGE_SIZE - 1] = 1;
	page_alloc();
}

static void
notzero(void)
{
	char *page = page_alloc_zero();

	*(volatile char *)&page[PAGE_SIZE - 1] = 1;
	page_free_zero(page);
}

/* Three mistakes of a profiler: its count runs with SIE=0, whatever lock the
 * code that was interrupted holds. */
static void
count_locks(const struct sample *)
{
	spin_lock(&first);
	spin_unlock(&first);
}

static void
count_prints(const struct sample *s)
{
	kprintf("sample at 0x%lx\n", s->pc);
}

static void
count_reads_user(const struct sample *)
{
	char c;

	copy_in(&c, TEXT_TOP - PAGE_SIZE, 1);
}

/* Have kprof do that, until a sample has come. */
static void
count_badly(void (*count)(const struct sample *s))
{
	kprof_profiler.count = count;
	sample_arm(&kprof_profiler);
	for (uint64_t start = rdtime(); rdtime() - start < machine.timebase;)
		;
}

static void
samplerlock(void)
{
	count_badly(count_locks);
}

static void
samplerprint(void)
{
	count_badly(count_prints);
}

static void
sampleruser(void)
{
	count_badly(count_reads_user);
}

static void
overflow_int(void)
{
	volatile int big = INT_MAX;

	big = big + 1;
}

static void
overflow_index(void)
{
	static volatile int i = 3;
	int array[4] = {0};

	i++;
	i = array[i]; /* cppcheck-suppress arrayIndexOutOfBounds */
}

static const struct {
	const char *name;
	void (*run)(void);
} words[] = {
    {"lockorder", lockorder},       {"locklevel", locklevel},
    {"locktwice", locktwice},       {"mutexunderspin", mutexunderspin},
    {"spinnotheld", spinnotheld},   {"mutexnotheld", mutexnotheld},
    {"useafterfree", useafterfree}, {"useafterpagefree", useafterpagefree},
    {"notzero", notzero},           {"overrun", overrun},
    {"returnlocked", returnlocked}, {"samplerlock", samplerlock},
    {"samplerprint", samplerprint}, {"sampleruser", sampleruser},
    {"overflow-int", overflow_int}, {"overflow-index", overflow_index},
};

int
check_word(char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(argv[0], words[i].name) == 0)
			words[i].run();
	return -EIO; /* none came back, if the checks are good */
}
