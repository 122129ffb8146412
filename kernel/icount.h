/* What is done for QEMU's -icount alone (icount.c; clock_nap is in clock.h). */
#ifndef KERNEL_ICOUNT_H
#define KERNEL_ICOUNT_H

struct hart;

/* After a deadline of the clock, in its interrupt: let another busy hart run
 * till the next one, if it's that one's turn. */
void icount_turn(const struct hart *h);

#endif
