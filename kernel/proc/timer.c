/*
 * Timers: what is to happen when.
 *
 * They are on one list, soonest first. Each tick compares the time with the
 * soonest deadline; only when that has come does it take the lock. So a
 * deadline is noticed within a tick, by whichever hart ticks first.
 */
#include "../machine.h"
#include "proc.h"

/* Level 5; guards the list, and changes of deadlines and intervals. */
static struct spinlock timer_lock = SPINLOCK5("timers");
static struct list timers = LIST_INIT(timers);
uint64_t timer_soonest = WAIT_FOREVER; /* read without the lock */

static struct timer *
timer_of(struct list *l)
{
	return container_of(l, struct timer, link);
}

void
timer_init(struct timer *t, void (*ring)(void *arg), void *arg)
{
	*t = (struct timer){.deadline = WAIT_FOREVER, .ring = ring, .arg = arg};
	list_init(&t->link);
}

/* Put t, on the list or not, where its new deadline belongs. The lock is held.
 */
static void
place(struct timer *t, uint64_t deadline)
{
	struct list *l;

	list_remove(&t->link);
	t->deadline = deadline;
	if (deadline != WAIT_FOREVER) {
		for (l = timers.next; l != &timers; l = l->next)
			if (timer_of(l)->deadline > deadline)
				break;
		list_append(l, &t->link); /* before l */
	}
	__atomic_store_n(&timer_soonest,
			 list_empty(&timers) ? WAIT_FOREVER
					     : timer_of(timers.next)->deadline,
			 __ATOMIC_RELAXED);
}

void
timer_set(struct timer *t, uint64_t deadline, uint64_t interval)
{
	spin_lock(&timer_lock);
	t->interval = interval;
	place(t, deadline);
	spin_unlock(&timer_lock);
}

/* t is due. If it comes again, then without those times that have passed as
 * well. The lock is held. */
static void
ring(struct timer *t, uint64_t now)
{
	uint64_t next = WAIT_FOREVER, late = now - t->deadline;

	if (t->interval != 0)
		next = now - late % t->interval + t->interval;
	place(t, next);
	t->ring(t->arg);
}

void
timer_tick(uint64_t now)
{
	spin_lock(&timer_lock);
	while (!list_empty(&timers) && timer_of(timers.next)->deadline <= now)
		ring(timer_of(timers.next), now);
	spin_unlock(&timer_lock);
}
