/*
 * Waiting for any of several things at once, for select, poll and epoll. The
 * waiting thread asks each of them what is ready, and each marks the wait
 * queues that are woken up when its answer changes (poll_in, poll_out). When
 * such a queue is woken up, wake_all calls poll_wake.
 */
#ifndef KERNEL_POLL_H
#define KERNEL_POLL_H

#include <stdint.h>

struct waitq;

/*
 * What the current thread has learnt beside the answers (thread.polled). A file
 * that is asked adds to `in' and `out' how often there has been something new
 * to read, and new room; if it isn't as often as before, something has come
 * since, even if it is gone by now.
 */
struct polled {
	unsigned int in, out;
	uint64_t
	    until; /* the first time at which an answer changes by itself */
};

/* How many changes there have been so far of anything that is polled. From now
 * on the current thread asks. */
unsigned long poll_changes(void);
/* For a file that is asked, under the lock that guards q: who polls is woken up
 * with q, when there is something to read, or room. */
void poll_in(struct waitq *q);
void poll_out(struct waitq *q);
/* The same, if the answer changes at a time, in timer counts. */
void poll_until(uint64_t time);
/* Sleep until it isn't `seen' any more, or an answer has changed by itself: 0;
 * or -ERESTART or -ETIMEDOUT. */
int poll_wait(unsigned long seen, unsigned long deadline);
/* A polled queue was woken up: count a change, and have all who wait look. */
void poll_wake(void);

#endif
