/* The clock: the scheduler's tick and the sampling clock, on one comparator. */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define HZ 100 /* scheduling ticks a second, on each hart */

struct sample;

void clock_init(void);
void clock_init_hart(void);
/* A timer interrupt, with SIE=0: take the sample that is due, note a tick
 * that is due in hart->owed, set the next deadline. */
void clock_interrupt(const struct sample *where);
/* The work of ticks and samples that is owed, at level 5. */
void clock_tick(bool user);

/* For a loop that waits for another hart: let it run. */
void clock_nap(void);

/*
 * The sampling clock's settings, as /dev/profclock shows them. A hart follows
 * a change when it sees a new generation, at its next interrupt.
 */
struct profclock {
	unsigned int hz; /* samples a second, on each hart */
	bool jitter;     /* intervals are random, their mean 1/hz */
	uint64_t seed;   /* of the random intervals */
	unsigned int generation;
};

extern struct profclock profclock;

#endif
