/* What is done for QEMU's -icount alone (icount.c; clock_nap is in clock.h). */
#ifndef KERNEL_ICOUNT_H
#define KERNEL_ICOUNT_H

struct hart;

/* How does QEMU go from hart to hart? At boot, after each start of another one,
 * of which the first is enough; that one calls icount_probe_partner. */
void icount_probe(void);
void icount_probe_partner(void);

/* After a deadline of the clock, in its interrupt: meet the other harts, and
 * let another one go first if it's that one's turn. */
void icount_turn(const struct hart *h);

#endif
