/*
 * Locks. docs/locks.md lists every one, what it guards and the order.
 *
 * A spinlock raises the level while held, so its holder is never preempted;
 * locks that an external interrupt's handler or a tick takes are of level 5,
 * the others of level 1. Release in the opposite order of taking: a lock
 * remembers the level to go back to. Never sleep, nor touch user memory, under
 * one.
 *
 * A mutex may be held across sleeping and faulting; it is for code at level 0.
 */
#ifndef KERNEL_LOCK_H
#define KERNEL_LOCK_H

#include "level.h"
#include "list.h"

struct hart;
struct thread;

struct spinlock {
	unsigned int held;
	unsigned int mask;   /* LEVEL1_MASK or LEVEL5_MASK */
	unsigned long saved; /* sie before it was taken */
	struct hart *hart;   /* who holds it, and since which call: */
	void *pc;            /* for the message of a deadlock */
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

void spin_lock(struct spinlock *lk);
void spin_unlock(struct spinlock *lk);

/*
 * A wait queue: threads that wait for a condition. The same spinlock guards
 * the condition and the queue, so that a wake-up between the test and the
 * sleep can't be lost.
 */
struct waitq {
	struct list waiters; /* of struct thread */
	bool polled;         /* wake those in select and poll, too */
};

#define WAITQ_INIT(q)                             \
	{                                         \
		.waiters = LIST_INIT((q).waiters) \
	}

#define WAIT_FOREVER (~0UL)

/*
 * Sleep on q until woken; lk, held, guards q: released while asleep, held
 * again on return. The caller tests its condition in a loop around this.
 * wait_on returns 0, or -ERESTART when a signal is to be delivered (return
 * that to user mode: the call is restarted or fails with EINTR). wait_until
 * returns -ETIMEDOUT as well, when rdtime() has passed deadline (it is noticed
 * at a tick). wait_uninterruptible is for waits that are sure to end soon.
 */
int wait_on(struct waitq *q, struct spinlock *lk);
int wait_until(struct waitq *q, struct spinlock *lk, unsigned long deadline);
void wait_uninterruptible(struct waitq *q, struct spinlock *lk);

/* Wake all of q's waiters. The lock that guards q is held. */
void wake_all(struct waitq *q);
/* fs/select.c: wake all threads in select and poll, to look once more. */
void poll_wake(void);

struct mutex {
	unsigned long owner;  /* a struct thread's address; see lock.c */
	struct spinlock lock; /* guards waiters */
	struct waitq waiters;
};

#define MUTEX(n, m)                                                    \
	{                                                              \
		.lock = SPINLOCK1(n), .waiters = WAITQ_INIT(m.waiters) \
	}

void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);

#endif
