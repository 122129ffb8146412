/*
 * Words of /dev/ktest that only the debug build has: each does what one of the
 * checks must find.
 */
#include "../checks.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "clock.h"
#include "mm/mm.h"
#include "print.h"
#include "thread.h"

#define BLOCK 64 /* bytes, of a small block */

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

static void
lockorder(void)
{
	in_order(&first, &second);
	in_order(&second, &first);
}

static void
locklevel(void)
{
	static struct spinlock outer = SPINLOCK5("ktest outer");

	in_order(&outer, &first);
}

/* Two locks of one name can't have an order. */
static void
locktwice(void)
{
	static struct spinlock twin[2];

	twin[0] = twin[1] = (struct spinlock)SPINLOCK1("ktest twin");
	in_order(&twin[0], &twin[1]);
}

static void
sleeplock(void)
{
	struct waitq q = WAITQ_INIT(q);

	spin_lock(&first);
	spin_lock(&second);
	wait_on(&q, &second);
}

static void
mutexunderspin(void)
{
	static struct mutex m = MUTEX("ktest", m);

	spin_lock(&first);
	mutex_lock(&m);
}

static void
useafterfree(void)
{
	char *block = kmalloc(BLOCK);

	kfree(block);
	*(volatile char *)&block[BLOCK / 2] = 1;
	for (int i = 0; i < PAGE_SIZE / BLOCK; i++)
		kmalloc(BLOCK);
}

static void
useafterpagefree(void)
{
	char *page = page_alloc();

	page_free(page);
	*(volatile char *)&page[PAGE_SIZE - 1] = 1;
	page_alloc();
}

static void
freetwice(void)
{
	void *block = kmalloc(BLOCK);

	kmalloc(BLOCK); /* so that the page stays */
	kfree(block);
	kfree(block);
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
    {"lockorder", lockorder},
    {"locklevel", locklevel},
    {"locktwice", locktwice},
    {"sleeplock", sleeplock},
    {"mutexunderspin", mutexunderspin},
    {"useafterfree", useafterfree},
    {"useafterpagefree", useafterpagefree},
    {"freetwice", freetwice},
    {"overflow-int", overflow_int},
    {"overflow-index", overflow_index},
};

int
check_word(char **argv)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(argv[0], words[i].name) == 0)
			words[i].run();
	return -EIO; /* none came back, if the checks are good */
}
