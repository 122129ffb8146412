/* What is done for QEMU's -icount alone (icount.c; clock_nap is in clock.h). */
#ifndef KERNEL_ICOUNT_H
#define KERNEL_ICOUNT_H

#include "hart.h"
#include "machine.h"

/* How does QEMU go from hart to hart? At boot, after each start of another one,
 * of which the first is enough; that one calls icount_probe_partner. */
void icount_probe(void);
void icount_probe_partner(void);

/* After a deadline of the clock, in its interrupt: meet the other harts, and
 * let another one go first if it's that one's turn. */
void icount_turn(const struct hart *h);

/* A hart's own time, in timer counts: it stands still where that of another
 * hart goes, if they take turns. Raised level. */
uint64_t icount_time(const struct hart *h);
static inline uint64_t
hart_time(const struct hart *h)
{
	return machine.icount ? icount_time(h) : rdtime();
}

#endif
