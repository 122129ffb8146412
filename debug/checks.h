/*
 * The calls by which the kernel tells the checks of the debug build what it is
 * doing (docs/testing.md). `make DEBUG=1' defines CHECKS. In the ordinary build
 * all of them expand to nothing. A check that fails is a panic.
 */
#ifndef DEBUG_CHECKS_H
#define DEBUG_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct hart;
struct mutex;
struct spinlock;
struct thread;

#ifdef CHECKS

/*
 * checks/locks.c: the order of locks, and that no lock of the wrong kind is
 * held. sched/lock.c calls these before it waits for a lock, so that an error
 * is found before it becomes a deadlock. pc is the place that wants the lock.
 */
void check_spin_lock(const struct spinlock *lk, void *pc);
void check_spin_unlock(const struct spinlock *lk);
void check_mutex_lock(const struct mutex *m, void *pc);
void check_mutex_unlock(const struct mutex *m);
/* current is about to leave its hart. The caller holds sched_lock. */
void check_switch(void);
/* A system call returns: nothing may be held any more. */
void check_return(void);
/* For the end of everything: print what is held, and where it was taken. */
void check_print_spinlocks(const struct hart *h);
void check_print_mutexes(const struct thread *t);
/* must_hold of sched/lock.h: check_held calls the one for the lock's type. */
void check_spin_held(const struct spinlock *lk, const char *function)
    ASSUMES(lk);
void check_mutex_held(const struct mutex *m, const char *function) ASSUMES(m);
#define check_held(lk) \
	_Generic((lk),                             \
	    struct spinlock *: check_spin_held,    \
	    const struct spinlock *: check_spin_held, \
	    struct mutex *: check_mutex_held,      \
	    const struct mutex *: check_mutex_held)((lk), __func__)

/*
 * checks/poison.c: memory that has been freed must keep a pattern until it is
 * allocated again, when it gets another one. `pages' are n pages in a row. The
 * first word of a freed block is used by the allocator and isn't checked.
 */
void check_pages_freed(void *pages, size_t n);
/* Of a page that is about to be freed as one of zeroes: it gets the pattern,
 * too, so this says that it won't be one. */
bool check_page_zero(const void *page);
void check_pages_allocated(void *pages, size_t n);
void check_block_freed(void *block, size_t all, void *pc);
void check_block_allocated(void *block, size_t all);
/* Of a block's `all' bytes the caller of kmalloc at pc gets only the first
 * `size'. The last CHECK_ROOM bytes remember both, and who freed it. */
#define CHECK_ROOM 16
void check_block_end(void *block, size_t all, size_t size, void *pc);

/* checks/words.c: words of /dev/ktest, each of which makes a check fail. */
int check_word(char **argv);
#define CHECK_WORD(word)                        \
	{                                       \
		.name = word, .run = check_word \
	}
#define CHECK_WORDS                                                     \
	CHECK_WORD("lockorder"), CHECK_WORD("locklevel"),               \
	    CHECK_WORD("locktwice"), CHECK_WORD("mutexunderspin"),      \
	    CHECK_WORD("spinnotheld"), CHECK_WORD("mutexnotheld"),      \
	    CHECK_WORD("useafterfree"), CHECK_WORD("useafterpagefree"), \
	    CHECK_WORD("notzero"), CHECK_WORD("overrun"),               \
	    CHECK_WORD("returnlocked"), CHECK_WORD("samplerlock"),      \
	    CHECK_WORD("samplerprint"), CHECK_WORD("sampleruser"),      \
	    CHECK_WORD("overflow-int"), CHECK_WORD("overflow-index"),   \
	{                                                               \
		0                                                       \
	}

#else

#define check_spin_lock(lk, pc)           ((void)0)
#define check_spin_unlock(lk)             ((void)0)
#define check_mutex_lock(m, pc)           ((void)0)
#define check_mutex_unlock(m)             ((void)0)
#define check_switch()                    ((void)0)
#define check_return()                    ((void)0)
#define check_print_spinlocks(h)          ((void)0)
#define check_print_mutexes(t)            ((void)0)
#define check_held(lk)                    ((void)0)
#define check_pages_freed(pages, n)       ((void)0)
#define check_page_zero(page)             ((void)(page), true)
#define check_pages_allocated(pages, n)   ((void)0)
#define check_block_freed(b, all, pc)     ((void)(pc))
#define check_block_allocated(b, all)     ((void)0)
#define CHECK_ROOM                        0
#define check_block_end(b, all, size, pc) ((void)(pc))
#define CHECK_WORDS \
	{           \
		0   \
	}

#endif
#endif
