/*
 * Waiting for any of several things: see poll.h. All that wait sleep on one
 * queue, and look again at each change. No change is missed, because changes
 * are counted: the caller takes the count, then looks at all its files, and
 * sleeps only as long as the count is still the same.
 */
#include "poll.h"

#include <errno.h>

#include "base/riscv.h"

#include "lock.h"
#include "thread.h"

static struct spinlock poll_lock = SPINLOCK5("poll");
static struct waitq pollers GUARDED_BY(poll_lock) = WAITQ_FOR(pollers,
							      WAITS_POLL, 0);
static unsigned long changes GUARDED_BY(poll_lock); /* of what is polled for */

unsigned long
poll_changes(void)
{
	current->polled.until = WAIT_FOREVER;
	return __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
}

void
poll_in(struct waitq *q)
{
	q->polled = true;
	current->polled.in += q->news;
}

void
poll_out(struct waitq *q)
{
	q->polled = true;
	current->polled.out += q->news;
}

void
poll_until(uint64_t time)
{
	if (time < current->polled.until)
		current->polled.until = time;
}

void
poll_wake(void)
{
	spin_lock(&poll_lock);
	changes++;
	wake_all(&pollers);
	spin_unlock(&poll_lock);
}

int
poll_wait(unsigned long seen, unsigned long deadline)
{
	uint64_t until = current->polled.until;
	int r = 0;

	if (until > deadline)
		until = deadline;
	spin_lock(&poll_lock);
	while (changes == seen && r == 0)
		r = wait_until(&pollers, &poll_lock, until);
	spin_unlock(&poll_lock);
	return r == -ETIMEDOUT && until < deadline ? 0 : r;
}
