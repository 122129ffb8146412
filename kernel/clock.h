/* The clock: the scheduler's tick and the sampling clock, on one comparator. */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define HZ 100 /* scheduling ticks a second, on each hart */

struct hart;
struct sample;

void clock_init(void);
void clock_init_hart(void);
/* A timer interrupt, with SIE=0: take the sample that is due, note a tick
 * that is due in hart->owed, set the next deadline. */
void clock_interrupt(const struct sample *where);
/* The work of ticks and samples that is owed, at level 5. */
void clock_tick(bool user);

/* The next deadline of h; and that at which its timer interrupts this hart. */
uint64_t clock_next_due(const struct hart *h);
void clock_set_timer(uint64_t when);

/* For a loop that waits for another hart: let it run (icount.c). */
void clock_nap(void);

#endif
