/*
 * Timers: functions to be called at a certain time.
 *
 * All that are set are on one list, the soonest first. Each tick, on any hart,
 * compares the time with the soonest deadline, and takes the lock only if that
 * has come. So a timer rings at most a tick late, on the hart that ticks first.
 */
#include "timer.h"

#include "base/list.h"

#include "hart.h"
#include "lock.h"

/* Guards the list, and all timers' deadlines and intervals. */
static struct spinlock timer_lock = SPINLOCK5("timers");
static struct list timers GUARDED_BY(timer_lock) = LIST_INIT(timers);
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

/* Give t, which may be on the list or not, a new deadline: put it in its place,
 * or take it off. */
static void
timer_place(struct timer *t, uint64_t deadline)
{
	struct list *l;

	must_hold(&timer_lock);
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
	timer_place(t, deadline);
	spin_unlock(&timer_lock);
}

/* t is due: set its next deadline, if it has an interval, and ring it. Times
 * that have been missed are only counted. */
static void
ring(struct timer *t, uint64_t now)
{
	uint64_t next = WAIT_FOREVER, late = now - t->deadline;

	must_hold(&timer_lock);
	t->missed = 0;
	if (t->interval != 0) {
		next = now - late % t->interval + t->interval;
		t->missed = late / t->interval;
	}
	timer_place(t, next);
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

/* Only the hart that holds the lock finds itself in it, so this needs no lock:
 * no thread is woken up by another holder of it than timer_tick. */
bool
timer_rings(void)
{
	return timer_lock.hart == this_hart();
}
