/* Timers: functions to be called at a certain time. See timer.c. */
#ifndef KERNEL_TIMER_H
#define KERNEL_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct timer {
	struct list link;            /* in the list of those that are set */
	uint64_t deadline, interval; /* timer counts, as timer_set has them */
	unsigned int missed;         /* for ring: how often it was due before */
	void (*ring)(void *arg);
	void *arg;
};

/* t isn't set at first. When it is due, a tick calls ring(arg) with the lock of
 * all timers held; so ring must not call timer_set. */
void timer_init(struct timer *t, void (*ring)(void *arg), void *arg);
/* Set t: it is due at deadline, in timer counts (WAIT_FOREVER: never), and
 * after that at each interval (0: only once). An old deadline is dropped. */
void timer_set(struct timer *t, uint64_t deadline, uint64_t interval);
/* The soonest deadline; a tick that finds it passed calls timer_tick. */
extern uint64_t timer_soonest;
void timer_tick(uint64_t now);
/* Does a timer ring on this hart? For what ring calls. */
bool timer_rings(void);

#endif
