/* setitimer's timers that count processor time: cputimer.c. */
#ifndef KERNEL_CPUTIMER_H
#define KERNEL_CPUTIMER_H

#include <stdbool.h>
#include <sys/types.h>

struct proc;

enum { CPUTIMER_VIRTUAL, CPUTIMER_PROF, CPUTIMERS };

/* In ticks: what is left (0: not set), and what it begins with again. */
struct cputimer {
	clock_t left, interval;
};

/* One of the current process's. */
void cputimer_set(int which, struct cputimer new);
struct cputimer cputimer_get(int which);
/* From a tick that has counted n more for the current process. */
void cputimer_tick(bool user, clock_t n);

#endif
