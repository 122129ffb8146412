/*
 * What the kernel tells the debug build's checks (docs/testing.md); nothing at
 * all in the ordinary build. `make DEBUG=1` defines CHECKS.
 */
#ifndef DEBUG_CHECKS_H
#define DEBUG_CHECKS_H

#include <stddef.h>

struct mutex;
struct spinlock;

#ifdef CHECKS

/*
 * checks/locks.c: the order of locks, and that none of the wrong kind is held.
 * A lock is announced before it is waited for; pc is who wants it.
 */
void check_spin_lock(const struct spinlock *lk, void *pc);
void check_spin_unlock(const struct spinlock *lk);
void check_mutex_lock(const struct mutex *m, void *pc);
void check_mutex_unlock(const struct mutex *m);
/* current leaves its hart, with sched_lock. */
void check_switch(void);

/*
 * checks/poison.c: memory that is given back keeps a pattern until someone
 * gets it, and then has another. Pages are n in a row; of a freed block the
 * first word is the allocator's.
 */
void check_pages_freed(void *pages, size_t n);
void check_pages_allocated(void *pages, size_t n);
void check_block_freed(void *block, size_t size);
void check_block_allocated(void *block, size_t size);

/* checks/words.c: words of /dev/ktest that fail a check each. */
int check_word(char **argv);
#define CHECK_WORD(word)                        \
	{                                       \
		.name = word, .run = check_word \
	}
#define CHECK_WORDS                                                   \
	CHECK_WORD("lockorder"), CHECK_WORD("locklevel"),             \
	    CHECK_WORD("locktwice"), CHECK_WORD("sleeplock"),         \
	    CHECK_WORD("mutexunderspin"), CHECK_WORD("useafterfree"), \
	    CHECK_WORD("useafterpagefree"), CHECK_WORD("freetwice"),  \
	    CHECK_WORD("overflow-int"), CHECK_WORD("overflow-index"), \
	{                                                             \
		0                                                     \
	}

#else

#define check_spin_lock(lk, pc)         ((void)0)
#define check_spin_unlock(lk)           ((void)0)
#define check_mutex_lock(m, pc)         ((void)0)
#define check_mutex_unlock(m)           ((void)0)
#define check_switch()                  ((void)0)
#define check_pages_freed(pages, n)     ((void)0)
#define check_pages_allocated(pages, n) ((void)0)
#define check_block_freed(b, size)      ((void)0)
#define check_block_allocated(b, size)  ((void)0)
#define CHECK_WORDS \
	{           \
		0   \
	}

#endif
#endif
