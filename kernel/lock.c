/* Spinlocks, wait queues, mutexes: see lock.h. */
#include "lock.h"

#include <checks.h>

#include "clock.h"
#include "machine.h"
#include "print.h"
#include "proc/proc.h"
#include "syscall.h"
#include "thread.h"

#define SPINS 200 /* looks at a lock before each is a nap apart */

/* lk is taken, at pc; sie is what to go back to. */
static inline void
taken(struct spinlock *lk, unsigned long sie, void *pc)
{
	lk->hart = this_hart();
	lk->pc = pc;
	lk->saved = sie;
}

/* Let the hart run that has lk. Each time this one looks it may just have it
 * again; so after a while it is to nap as well, as soon as it has no lock. */
static void
nap_for(struct spinlock *lk, uint64_t start)
{
	struct hart *h = __atomic_load_n(&lk->hart, __ATOMIC_RELAXED);

	if (h != NULL && rdtime() - start > machine.timebase / 1000)
		__atomic_or_fetch(&h->owed, OWED_LOCK, __ATOMIC_RELAXED);
	clock_nap();
}

/* Someone has lk: wait for it. Out of line, or each taking of a lock would save
 * registers for this. */
static __attribute__((noinline)) void
spin_slowly(struct spinlock *lk, unsigned long sie, void *pc)
{
	uint64_t start = rdtime();

	if (lk->hart == this_hart())
		panic("deadlock: %s, taken at %p, wanted again at %p", lk->name,
		      lk->pc, pc);
	while (__atomic_exchange_n(&lk->held, 1, __ATOMIC_ACQUIRE))
		for (unsigned int n = 0;
		     __atomic_load_n(&lk->held, __ATOMIC_RELAXED); n++)
			if (n >= SPINS)
				nap_for(lk, start);
	taken(lk, sie, pc);
}

static void
release(struct spinlock *lk)
{
	check_spin_unlock(lk);
	lk->hart = NULL;
	__atomic_store_n(&lk->held, 0, __ATOMIC_RELEASE);
}

void
spin_lock(struct spinlock *lk)
{
	unsigned long sie = level_raise(lk->mask);

	check_spin_lock(lk, __builtin_return_address(0));
	if (__atomic_exchange_n(&lk->held, 1, __ATOMIC_ACQUIRE)) {
		spin_slowly(lk, sie, __builtin_return_address(0));
		/* Were the call the last thing done here, gcc would make the
		 * stack frame before the test, for all to pay. */
		asm volatile("");
	} else {
		taken(lk, sie, __builtin_return_address(0));
	}
}

void
spin_unlock(struct spinlock *lk)
{
	unsigned long sie = lk->saved;

	assert(lk->hart == this_hart());
	release(lk);
	level_lower(sie);
}

/* A wait's timer: its time is over. */
static void
wake_late(void *thread)
{
	thread_wake(thread, false);
}

/*
 * Sleep on q. From before lk is released until this thread has left the hart
 * sched_lock is held, which all wakers need: none finds it awake still. What
 * came before that, a signal or the deadline, is looked for under it.
 */
static int
wait_common(struct waitq *q, struct spinlock *lk, int state,
	    unsigned long deadline)
{
	struct timer limit;
	unsigned long sie = lk->saved;
	bool hard = state == THREAD_SLEEPING_HARD;

	assert(lk->hart == this_hart());
	list_append(&q->waiters, &current->wait_link);
	if (deadline != WAIT_FOREVER) {
		timer_init(&limit, wake_late, current);
		timer_set(&limit, deadline, 0);
	}
	spin_lock(&sched_lock);
	release(lk);
	if (rdtime() < deadline && (hard || !signal_pending())) {
		current->state = state;
		sched();
	}
	spin_unlock(&sched_lock);
	spin_lock(lk);
	lk->saved = sie;
	list_remove(&current->wait_link);
	if (deadline != WAIT_FOREVER)
		timer_set(&limit, WAIT_FOREVER, 0);
	if (!hard && signal_pending())
		return -ERESTART;
	return rdtime() < deadline ? 0 : -ETIMEDOUT;
}

int
wait_on(struct waitq *q, struct spinlock *lk)
{
	return wait_common(q, lk, THREAD_SLEEPING, WAIT_FOREVER);
}

int
wait_until(struct waitq *q, struct spinlock *lk, unsigned long deadline)
{
	return wait_common(q, lk, THREAD_SLEEPING, deadline);
}

void
wait_uninterruptible(struct waitq *q, struct spinlock *lk)
{
	wait_common(q, lk, THREAD_SLEEPING_HARD, WAIT_FOREVER);
}

/* A thread leaves the queue, so that no one wakes it again before it runs. */
void
wake_all(struct waitq *q)
{
	list_each_safe (struct thread, t, &q->waiters, wait_link) {
		list_remove(&t->wait_link);
		thread_wake(t, false);
	}
	if (q->polled) {
		q->polled = false;
		poll_wake();
	}
}

/*
 * A mutex's owner is a thread's address, with bit 0 set while others are
 * waiting: so taking and giving back one that nobody else wants is one
 * compare-and-swap each. One that is wanted goes to the first who waits: if it
 * were free until that thread runs, another could take it over and over.
 */
#define MUTEX_WANTED 1UL

static bool
mutex_swap(struct mutex *m, unsigned long from, unsigned long to)
{
	return __atomic_compare_exchange_n(&m->owner, &from, to, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool
mutex_held(const struct mutex *m)
{
	return (m->owner & ~MUTEX_WANTED) == (unsigned long)current;
}

void
mutex_lock(struct mutex *m)
{
	check_mutex_lock(m, __builtin_return_address(0));
	if (mutex_swap(m, 0, (unsigned long)current))
		return;
	assert(!mutex_held(m));
	spin_lock(&m->lock);
	while (!mutex_held(m)) {
		unsigned long owner = m->owner;

		if (owner == 0)
			mutex_swap(m, 0, (unsigned long)current);
		else if (mutex_swap(m, owner, owner | MUTEX_WANTED))
			wait_uninterruptible(&m->waiters, &m->lock);
	}
	spin_unlock(&m->lock);
}

void
mutex_unlock(struct mutex *m)
{
	struct thread *first;
	unsigned long owner;

	check_mutex_unlock(m);
	/* A release. It can't be asked of the swap: GCC 12 takes a
	 * compare-and-swap's order before it from the case that it fails. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (mutex_swap(m, (unsigned long)current, 0))
		return;
	assert(mutex_held(m));
	spin_lock(&m->lock);
	first = container_of(m->waiters.waiters.next, struct thread, wait_link);
	list_remove(&first->wait_link);
	owner = (unsigned long)first;
	if (!list_empty(&m->waiters.waiters))
		owner |= MUTEX_WANTED;
	__atomic_store_n(&m->owner, owner, __ATOMIC_RELAXED);
	thread_wake(first, false);
	spin_unlock(&m->lock);
}
