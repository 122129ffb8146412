/*
 * Checks of how locks are used, for the debug build (check_locks.c): that their
 * order has no circle, and that no lock of the wrong kind is held. lock.c calls
 * these before it waits for a lock, so an error is found before it becomes a
 * deadlock. In the ordinary build they expand to nothing: `make DEBUG=1'
 * defines CHECKS (docs/testing.md). A check that fails is a panic.
 */
#ifndef KERNEL_CHECK_LOCKS_H
#define KERNEL_CHECK_LOCKS_H

#include "base/compiler.h"

struct hart;
struct mutex;
struct spinlock;
struct thread;

#ifdef CHECKS

/* pc is the place that wants the lock. */
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
/* must_hold of lock.h: check_held calls the one for the lock's type. */
void check_spin_held(const struct spinlock *lk, const char *function)
    ASSUMES(lk);
void check_mutex_held(const struct mutex *m, const char *function) ASSUMES(m);
#define check_held(lk) \
	_Generic((lk),                             \
	    struct spinlock *: check_spin_held,    \
	    const struct spinlock *: check_spin_held, \
	    struct mutex *: check_mutex_held,      \
	    const struct mutex *: check_mutex_held)((lk), __func__)

#else

#define check_spin_lock(lk, pc)  ((void)0)
#define check_spin_unlock(lk)    ((void)0)
#define check_mutex_lock(m, pc)  ((void)0)
#define check_mutex_unlock(m)    ((void)0)
#define check_switch()           ((void)0)
#define check_return()           ((void)0)
#define check_print_spinlocks(h) ((void)0)
#define check_print_mutexes(t)   ((void)0)
#define check_held(lk)           ((void)0)

#endif
#endif
