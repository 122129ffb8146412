/* Signals that have been sent and not yet acted on: pending.c. */
#ifndef KERNEL_PENDING_H
#define KERNEL_PENDING_H

#define QUEUE_MAX 128 /* real-time signals of a process */

#include <signal.h>

#include "proc.h"

/* All of these want p->lock, p being the process whose `pending', or whose
 * thread's, it is. */

/* Add a signal. 0; or -EAGAIN: a real-time one would lose its value, as too
 * many are queued. Other signals come without their info then. */
int pending_add(struct proc *p, struct pending *to, const siginfo_t *info);
/* Take one that is pending, the first of that number. */
void pending_take(struct proc *p, struct pending *from, int sig,
		  siginfo_t *info);
/* Forget those of a set. */
void pending_forget(struct proc *p, struct pending *from, sigset_t set);

#endif
