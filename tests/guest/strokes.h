/*
 * What the tests share that have one hart stand still in the midst of
 * something. Under icount a hart runs until the sampling clock strikes, then
 * another does (clock.c); so whoever does something so long before a stroke is
 * stopped in the middle of it, and each of its moments has its round.
 */
#ifndef STROKES_H
#define STROKES_H

#include "observe.h"
#include "profiling.h"

#define COUNTS_PER_US 10 /* of rdtime */
#define US(n)         ((n)*COUNTS_PER_US)
#define TICK          US(10000)

static uint64_t stroke; /* counts between two of them */
static uint64_t when;   /* one that all wait for */

static inline void
spin_till(uint64_t t)
{
	while (rdtime() < t)
		;
}

/* All harts follow a new rate from their next tick on. */
static inline void
strike(unsigned int hz)
{
	struct timespec nap = {.tv_nsec = 30 * NS_PER_MS};

	ctl(PROFCLOCK, "hz %u", hz);
	stroke = US(1000000) / hz;
	nanosleep(&nap, NULL);
}

/* The nth tick from now. */
static inline uint64_t
nth_tick(unsigned int n)
{
	return (rdtime() / TICK + n) * TICK;
}

/* Agree on the nth stroke from now. */
static inline void
appoint(unsigned int n)
{
	when = (rdtime() / stroke + n) * stroke;
}

#endif
