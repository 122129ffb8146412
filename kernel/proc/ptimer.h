/* The timers that a process makes with timer_create: ptimer.c. */
#ifndef KERNEL_PTIMER_H
#define KERNEL_PTIMER_H

#include <signal.h>

struct proc;

/* At exec and at the end, by p's last thread: delete all. */
void ptimer_free_all(struct proc *p);
/* A signal of a timer is taken; under p->lock. For timer_getoverrun. */
void ptimer_taken(struct proc *p, const siginfo_t *info);

#endif
