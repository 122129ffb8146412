/*
 * How the locks of lock.h are made. Each kind is built on the one before: a
 * wait queue is guarded by a spinlock, and a mutex has a wait queue.
 * docs/locks.md has litmus tests for the memory orders. UNGUARDED stands before
 * what the analysis of locks can't see (base/compiler.h).
 */
#include "lock.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/list.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "base/symbols.h"
#include "machine/machine.h"

#include "check_locks.h"
#include "clock.h"
#include "hart.h"
#include "level.h"
#include "poll.h"
#include "thread.h"
#include "timer.h"

struct wait_watch wait_watch;

#define SPINS 200 /* looks at a lock before each further one is after a nap */

static inline void
taken(struct spinlock *lk, unsigned long sie, void *pc)
{
	lk->hart = this_hart();
	lk->pc = pc;
	lk->saved = sie;
}

/*
 * Nap, so that the hart that holds lk can run. Under -icount this hart looks at
 * lk only once a nap, and a holder that takes lk over and over may have it each
 * time. So after a millisecond of waiting, since `start`, the holder must nap
 * as well, as soon as it holds no lock (clock_tick).
 */
static void
nap_for(struct spinlock *lk, uint64_t start)
{
	struct hart *h = __atomic_load_n(&lk->hart, __ATOMIC_RELAXED);

	if (h != NULL && rdtime() - start > machine.timebase / 1000)
		__atomic_or_fetch(&h->owed, OWED_LOCK, __ATOMIC_RELAXED);
	clock_nap();
}

/* This hart has lk already. The text takes a lot of stack, so it is apart from
 * spin_untold, which any code may need on a stack that is nearly full. */
static SLOW_PATH __attribute__((noreturn)) void
deadlock(const struct spinlock *lk, void *pc)
{
	panic("deadlock: %s, taken at %s, wanted again at %s", lk->name,
	      symbol_place(lk->pc).text, symbol_place(pc).text);
}

/* Wait for lk and take it. The inner loop only loads: a store would take the
 * cache line away from the holder. */
static SLOW_PATH void
spin_untold(struct spinlock *lk, unsigned long sie, void *pc)
{
	uint64_t start = rdtime();
	struct hart *h = this_hart();
	const struct spinlock *outer = h->wanted; /* this may be a handler */

	if (lk->hart == h)
		deadlock(lk, pc);
	__atomic_store_n(&h->wanted, lk, __ATOMIC_RELAXED);
	while (__atomic_exchange_n(&lk->held, 1, __ATOMIC_ACQUIRE))
		for (unsigned int n = 0;
		     __atomic_load_n(&lk->held, __ATOMIC_RELAXED); n++)
			if (n >= SPINS)
				nap_for(lk, start);
	__atomic_store_n(&h->wanted, outer, __ATOMIC_RELAXED);
	taken(lk, sie, pc);
}

/* The same; and the profiler of waits is told. */
static SLOW_PATH void
spin_slowly(struct spinlock *lk, unsigned long sie, void *pc)
{
	uint64_t start = rdtime();
	void *by = lk->pc; /* or of another holder, if it is just released */

	spin_untold(lk, sie, pc);
	if (wait_watch.armed)
		wait_watch.spun(lk, pc, by, start);
}

/* Release lk, but leave the level raised. */
static void
spin_release(struct spinlock *lk)
{
	check_spin_unlock(lk);
	lk->hart = NULL;
	__atomic_store_n(&lk->held, 0, __ATOMIC_RELEASE);
}

/* The level comes first, or a handler that wants lk could still interrupt. */
UNGUARDED void
spin_lock(struct spinlock *lk)
{
	unsigned long sie = level_raise(lk->mask);

	check_spin_lock(lk, __builtin_return_address(0));
	if (__atomic_exchange_n(&lk->held, 1, __ATOMIC_ACQUIRE)) {
		spin_slowly(lk, sie, __builtin_return_address(0));
		/*
		 * Without a statement after this call, GCC sets up the stack
		 * frame before the test. That would be seven instructions more
		 * for each lock that is free, and nearly all are.
		 */
		asm volatile("");
	} else {
		taken(lk, sie, __builtin_return_address(0));
	}
}

UNGUARDED void
spin_lock_untold(struct spinlock *lk)
{
	unsigned long sie = level_raise(lk->mask);

	check_spin_lock(lk, __builtin_return_address(0));
	if (__atomic_exchange_n(&lk->held, 1, __ATOMIC_ACQUIRE))
		spin_untold(lk, sie, __builtin_return_address(0));
	else
		taken(lk, sie, __builtin_return_address(0));
}

/* `saved` is read while the lock is held, as it belongs to the holder. */
UNGUARDED void
spin_unlock(struct spinlock *lk)
{
	unsigned long sie = lk->saved;

	assert(lk->hart == this_hart());
	spin_release(lk);
	level_lower(sie);
}

/* The deadline of a wait has come. A tick calls this, by way of the timer. */
static void
wake_late(void *thread)
{
	thread_wake(thread, false);
}

/* A thread that sleeps keeps its spinlocks, and whoever wants one would spin
 * until it runs again. The debug build knows which lock it is. */
static SLOW_PATH __attribute__((noreturn)) void
sleep_refused(const struct spinlock *lk, unsigned long sie)
{
	check_switch();
	panic("sleep under a spinlock: at level %d, waiting for %s",
	      level_of(sie), lk->name);
}

/* What ends a wait, besides a wake-up and the deadline. */
enum ender { NOTHING, ANY_SIGNAL, DEATH };

static inline bool
ended(enum ender by)
{
	return by == ANY_SIGNAL ? thread_interrupted()
				: by == DEATH && thread_calls.killed();
}

/*
 * What the four functions below have in common. deadline is an rdtime().
 *
 * No wake-up may be lost. All wakers need sched_lock (thread_wake). This thread
 * takes it before it releases lk, and it is released only after the thread has
 * left the hart. A waker that gets sched_lock later finds the thread asleep.
 * One that had it earlier found the thread awake, and did nothing: that can't
 * be wake_all, whose caller needs lk, but a signal, or the deadline. So these
 * two are looked for here with sched_lock held.
 *
 * The level stays raised as by lk all the time, so the second spin_lock notes a
 * raised sie as the one to go back to. The caller's is put back.
 */
static UNGUARDED int
wait_common(struct waitq *q, struct spinlock *lk, enum ender ender,
	    unsigned long deadline)
{
	struct timer limit;
	unsigned long sie = lk->saved;
	bool slept = false;
	uint64_t now;

	assert(lk->hart == this_hart());
	list_append(&q->waiters, &current->wait_link);
	if (deadline != WAIT_FOREVER) {
		timer_init(&limit, wake_late, current);
		timer_set(&limit, deadline, 0);
	}
	spin_lock(&sched_lock);
	spin_release(lk);
	now = rdtime();
	if (now < deadline && !ended(ender)) {
		if (sie != LEVEL_ALL)
			sleep_refused(lk, sie);
		current->wait_lock = lk;
		current->wait_since = now;
		current->watched.queue = q;
		current->state = ender != NOTHING ? THREAD_SLEEPING
						  : THREAD_UNINTERRUPTIBLE;
		sched();
		slept = true;
	}
	spin_unlock(&sched_lock);
	if (slept && wait_watch.armed)
		wait_watch.slept();
	spin_lock(lk);
	lk->saved = sie;
	list_remove(&current->wait_link);
	if (deadline != WAIT_FOREVER)
		timer_set(&limit, WAIT_FOREVER, 0);
	if (ended(ender))
		return -ERESTART;
	return rdtime() < deadline ? 0 : -ETIMEDOUT;
}

int
wait_on(struct waitq *q, struct spinlock *lk)
{
	return wait_common(q, lk, ANY_SIGNAL, WAIT_FOREVER);
}

int
wait_until(struct waitq *q, struct spinlock *lk, unsigned long deadline)
{
	return wait_common(q, lk, ANY_SIGNAL, deadline);
}

int
wait_killable(struct waitq *q, struct spinlock *lk)
{
	return wait_common(q, lk, DEATH, WAIT_FOREVER);
}

void
wait_uninterruptible(struct waitq *q, struct spinlock *lk)
{
	wait_common(q, lk, NOTHING, WAIT_FOREVER);
}

/* Taken off the queue here, a thread isn't woken up again before it runs. */
static inline void
wake(struct waitq *q)
{
	list_each_safe (struct thread, t, &q->waiters, wait_link) {
		list_remove(&t->wait_link);
		thread_wake(t, false);
	}
}

void
wake_waiters(struct waitq *q)
{
	wake(q);
}

void
wake_all(struct waitq *q)
{
	wake(q);
	if (q->polled) {
		q->polled = false;
		q->news++;
		poll_wake();
	}
}

/*
 * m->owner is 0 if the mutex is free; else it is the address of the thread that
 * has it, with bit 0 set while other threads wait. So to take or release a
 * mutex that nobody else wants is one compare-and-swap. When others wait the
 * swap back to 0 fails, because of the bit.
 *
 * Then the mutex is handed to the thread that has waited longest, before it has
 * run. If the mutex were free until then, another thread could take it over and
 * over. For example, A has the mutex, and B and C wait:
 *	m->owner		waiters
 *	A | MUTEX_WANTED	B, C
 *	B | MUTEX_WANTED	C		A has called mutex_unlock
 *	C			none		so has B
 *	0			none		so has C
 *
 * While nobody holds m->lock, the bit is set exactly if the queue isn't empty.
 */
#define MUTEX_WANTED 1UL

static bool
mutex_swap(struct mutex *m, unsigned long from, unsigned long to)
{
	return __atomic_compare_exchange_n(&m->owner, &from, to, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

const struct thread *
mutex_owner(const struct mutex *m)
{
	return (const struct thread *)(m->owner & ~MUTEX_WANTED);
}

static bool
mutex_held(const struct mutex *m)
{
	return mutex_owner(m) == current;
}

/*
 * The loop ends when m is this thread's: it was free after all, or has been
 * handed over. Each swap may fail, as other threads may take m, or release it,
 * without m->lock; then the loop looks again.
 */
UNGUARDED void
mutex_lock(struct mutex *m)
{
	check_mutex_lock(m, __builtin_return_address(0));
	if (mutex_swap(m, 0, (unsigned long)current))
		return;
	if (mutex_held(m))
		panic("deadlock: mutex %s, wanted again by its holder",
		      m->lock.name);
	spin_lock(&m->lock);
	while (!mutex_held(m)) {
		unsigned long owner = m->owner;

		if (owner == 0)
			mutex_swap(m, 0, (unsigned long)current);
		else if (mutex_swap(m, owner, owner | MUTEX_WANTED)) {
			current->wait_mutex = m;
			wait_uninterruptible(&m->waiters, &m->lock);
		}
	}
	current->wait_mutex = NULL;
	spin_unlock(&m->lock);
}

/* If the swap fails MUTEX_WANTED is set. Then nobody else changes the word, and
 * there is a first waiter to hand the mutex to. */
UNGUARDED void
mutex_unlock(struct mutex *m)
{
	struct thread *first;
	unsigned long owner;

	check_mutex_unlock(m);
	/*
	 * The release is a fence of its own, as the swap can't be asked for it:
	 * GCC 12 takes the order before a compare-and-swap from the order for
	 * the case that it fails.
	 */
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
