/* The generator xorshift64*: fast, and good enough for moments in time. */
#ifndef KERNEL_RANDOM_H
#define KERNEL_RANDOM_H

#include <stdint.h>

/* A seed times this, with the lowest bit set, is a state: never 0, and seeds
 * that are close have states that aren't. */
#define RANDOM_SPREAD 0x9e3779b97f4a7c15

static inline uint64_t
random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

#endif
