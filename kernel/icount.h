/* What is done for QEMU's -icount alone (icount.c; clock_nap is in clock.h). */
#ifndef KERNEL_ICOUNT_H
#define KERNEL_ICOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

struct hart;

/* How does QEMU go from hart to hart? At boot, after each start of another one,
 * of which the first is enough; that one calls icount_probe_partner. */
void icount_probe(void);
void icount_probe_partner(void);

/* After a deadline of the clock that h met at `met`, in its interrupt, perhaps
 * of a raised level: meet the other harts. */
void icount_meet(struct hart *h, uint64_t met, bool raised);

/* Is it h's turn? Always, where harts don't take any. */
bool icount_owner(const struct hart *h);
static inline bool
icount_turn(const struct hart *h)
{
	return !machine.icount || icount_owner(h);
}

/* Before an interrupt of level 0 returns, at level 5: if it's another hart's
 * turn, sleep until an interrupt is pending. Returns the cause of that; SIE is
 * 0 then if it's the timer's. 0: go on. */
unsigned long icount_wait(struct hart *h);

/* h has nothing to do, or waits for another hart: if it's its turn, another one
 * has the rest of it. */
void icount_pass(const struct hart *h);

#endif
