/* What is done for QEMU's -icount alone: see icount.c. */
#ifndef KERNEL_ICOUNT_H
#define KERNEL_ICOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

struct hart;

/* Find out how QEMU goes from hart to hart. The boot hart, and each hart that
 * it has started, call these; only the first time does anything. */
void icount_probe(void);
void icount_probe_partner(void);

/* The timer has interrupted h at `met`, and h has set its next deadline: wait
 * until all have met this one. raised: h may hold a lock. SIE is 0. */
void icount_meet(struct hart *h, uint64_t met, bool raised);

/* Is it h's turn? Always true where harts don't take turns. */
bool icount_owner(const struct hart *h);
static inline bool
icount_turn(const struct hart *h)
{
	return !machine.icount || icount_owner(h);
}

/*
 * At the end of an interrupt of level 0, at level 5: if it is another hart's
 * turn, sleep until an interrupt is pending, and return its cause for the
 * caller to handle. SIE is then 0 if it is the timer's. 0: h can go on.
 */
unsigned long icount_wait(struct hart *h);

/* h has nothing to do, or waits for another hart: if it is h's turn, the next
 * hart that has work gets the rest of it. */
void icount_pass(const struct hart *h);

#endif
