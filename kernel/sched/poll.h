/*
 * Waiting for any of several things at once, for select and poll. The waiting
 * thread sets `polled' in the wait queue of each of them. When that queue is
 * woken up, wake_all calls poll_wake.
 */
#ifndef KERNEL_POLL_H
#define KERNEL_POLL_H

/* How many changes there have been so far of anything that is polled. */
unsigned long poll_changes(void);
/* Sleep until it isn't `seen' any more: 0, -ERESTART or -ETIMEDOUT. */
int poll_wait(unsigned long seen, unsigned long deadline);
/* A polled queue was woken up: count a change, and have all who wait look. */
void poll_wake(void);

#endif
