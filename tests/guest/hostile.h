/*
 * What the programs share that try thousands of made-up things: a generator of
 * numbers, seeded, so that a run can be repeated: PROGRAM [ROUNDS [SEED]].
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "children.h"

static uint64_t random_state;
static long rounds;

/* The arguments, or these many rounds. Says both, for the next time. */
static inline void
hostile_start(int argc, char **argv, long dflt)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	rounds = argc > 1 ? strtol(argv[1], NULL, 0) : dflt;
	random_state = seed * 0x9e3779b97f4a7c15 + 1;
	CHECK(rounds > 0, "%ld rounds, seed %lu", rounds, seed);
}

/* xorshift64*. */
static inline uint64_t
random_64(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

/* 0..n-1 */
static inline uint64_t
random_below(uint64_t n)
{
	return (random_64() >> 11) % n;
}

/* A number such as goes wrong: at the ends of types, pages, address spaces. */
static inline uint64_t
random_number(void)
{
	static const uint64_t edges[] = {
	    0,
	    1,
	    8,
	    64,
	    PAGE,
	    0x10000,
	    0x7f800000,
	    0x80000000,
	    0x100000000,
	    1UL << 40,
	    1UL << 62,
	    1UL << 63,
	    0xffffffff00000000,
	    0xffffffff80200000,
	};
	uint64_t n = edges[random_below(sizeof(edges) / sizeof(edges[0]))];

	switch (random_below(6)) {
	case 0:
		return n;
	case 1:
		return n - 1;
	case 2:
		return n + random_below(16) - 8;
	case 3:
		return -n;
	case 4:
		return random_64() >> random_below(64);
	default:
		return random_below(256);
	}
}

#endif
