/*
 * Locks. docs/locks.md lists every lock, what it guards, and their order.
 *
 * A spinlock raises the interrupt priority level while it is held (level.h), so
 * its holder is never preempted. A lock that the tick or the handler of an
 * external interrupt takes is of level 5: if such a handler could interrupt the
 * holder on the same hart, it would wait for ever. All others are of level 1.
 * Spinlocks must be released in the opposite order of taking, since each
 * remembers the level to return to. A holder must neither sleep nor touch user
 * memory, as a page fault may sleep.
 *
 * A mutex may be held across sleeps and page faults. Only threads at level 0
 * may take one.
 */
#ifndef KERNEL_LOCK_H
#define KERNEL_LOCK_H

#include "base/compiler.h"
#include "base/list.h"
#include <sys/waits.h>

#include "check_locks.h"
#include "level.h"

struct hart;
struct thread;

struct LOCK_TYPE("spinlock") spinlock {
	unsigned int held; /* 1 while a hart holds it; atomic */
	unsigned int mask;
	unsigned long saved; /* the holder's sie before it took the lock */
	struct hart *hart;   /* the holder, NULL if there is none, and */
	void *pc;            /* who took it: for a deadlock's message */
	const char *name;
};

#define SPINLOCK1(n)                           \
	{                                      \
		.mask = LEVEL1_MASK, .name = n \
	}
#define SPINLOCK5(n)                           \
	{                                      \
		.mask = LEVEL5_MASK, .name = n \
	}

/* The scheduler's (sched.c): the last but the port's in the lock order. */
extern struct spinlock sched_lock;

void spin_lock(struct spinlock *lk) ACQUIRES(lk);
/* For the profiler of waits, which isn't told of spinning for its own lock. */
void spin_lock_untold(struct spinlock *lk) ACQUIRES(lk);
void spin_unlock(struct spinlock *lk) RELEASES(lk);

/* A wait queue. One spinlock, the caller's, guards both it and the condition.
 * So no wake-up can come between a thread's test and its sleep, and be lost. */
struct waitq {
	struct list waiters; /* of struct thread, by wait_link */
	bool polled;         /* wake those who poll, too */
	/* For the profiler of waits: WAITS_* of <sys/waits.h>, and an id. */
	unsigned char kind;
	unsigned int news; /* how often those who poll were woken: poll.h */
	unsigned long id;
};

#define WAITQ_INIT(q) WAITQ_FOR(q, WAITS_OTHER, 0)
#define WAITQ_FOR(q, what, which)                                  \
	{                                                          \
		.waiters = LIST_INIT((q).waiters), .kind = (what), \
		.id = (which)                                      \
	}

#define WAIT_FOREVER (~0UL)

/* A wait that a signal has ended returns -ERESTART. User mode never sees it:
 * the system call is restarted, or fails with EINTR. */
#define ERESTART 512

/*
 * Sleep on q until woken up. The caller must hold lk, which guards q. It is
 * released during the sleep and held again on return. A wake-up doesn't mean
 * that the condition holds, as another thread may have come first; so the
 * caller tests it in a loop:
 *	spin_lock(&lk);
 *	while (!condition && r == 0)
 *		r = wait_on(&q, &lk);
 *	spin_unlock(&lk);
 *
 * wait_on returns 0 or -ERESTART. wait_until can also return -ETIMEDOUT:
 * rdtime() has reached deadline, which is noticed at a tick. Of signals, only
 * one that ends the process ends wait_killable, too. None ends
 * wait_uninterruptible, for waits that are sure to end soon.
 */
int wait_on(struct waitq *q, struct spinlock *lk);
int wait_until(struct waitq *q, struct spinlock *lk, unsigned long deadline);
int wait_killable(struct waitq *q, struct spinlock *lk);
void wait_uninterruptible(struct waitq *q, struct spinlock *lk);

/* Wake up all threads on q, and all that poll. The caller must hold the lock
 * that guards q. For wake_waiters those who poll already know. */
void wake_all(struct waitq *q);
void wake_waiters(struct waitq *q);

struct LOCK_TYPE("mutex") mutex {
	unsigned long owner;  /* 0, or a thread's address: see lock.c; atomic */
	struct spinlock lock; /* guards waiters */
	struct waitq waiters; /* the first is the next owner */
};

#define MUTEX(n, m)                                             \
	{                                                       \
		.lock = SPINLOCK1(n),                           \
		.waiters = WAITQ_FOR(m.waiters, WAITS_MUTEX, 0) \
	}

void mutex_lock(struct mutex *m) ACQUIRES(m);
void mutex_unlock(struct mutex *m) RELEASES(m);
/* The thread that has m, or NULL. Unless that is the caller, or all harts have
 * stopped, it may be another one by now. */
const struct thread *mutex_owner(const struct mutex *m);

/* To begin a function whose caller must hold lk: this hart a spinlock, or this
 * thread a mutex. A build with DEBUG=1 panics otherwise. */
#define must_hold(lk) check_held(lk)

#endif
