/*
 * Moments that tests choose: a tick, and the end of a turn.
 *
 * Under icount one hart executes at a time, and one that has work to do gets
 * its turn when another one's is over (icount.c). So who does something so long
 * before the end of its turn is stopped in the middle of it, until others have
 * had theirs. The two that meet must be the only ones that execute, and do so
 * all the time.
 */
#ifndef MOMENTS_H
#define MOMENTS_H

#include "children.h"
#include "profiling.h"

#define COUNTS_PER_US 10 /* of rdtime */
#define US(n)         ((n)*COUNTS_PER_US)
#define TICK          US(10000)
#define AWAY          US(600) /* at least, in another one's turn */
#define MEASURED      15      /* turns */

static inline void
spin_till(uint64_t t)
{
	while (rdtime() < t)
		;
}

/* The nth tick from now. */
static inline uint64_t
nth_tick(unsigned int n)
{
	return (rdtime() / TICK + n) * TICK;
}

/* --- Turns --- */

static uint64_t turn; /* counts: the length of one */

/* Spin until this hart's next turn: when does it begin, when has one ended? */
static inline uint64_t
await_turn(uint64_t *ended)
{
	uint64_t last = rdtime(), now = last;

	for (; now - last < AWAY; now = rdtime())
		last = now;
	*ended = last;
	return now;
}

static int
compare_counts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median: ticks of harts make some turns longer, or seem to end them. */
static inline void
measure_turns(void)
{
	uint64_t turns[MEASURED], ended, begun = await_turn(&ended);

	for (int i = 0; i < MEASURED; i++) {
		uint64_t next = await_turn(&ended);

		turns[i] = ended - begun;
		begun = next;
	}
	qsort(turns, MEASURED, sizeof(turns[0]), compare_counts);
	turn = turns[MEASURED / 2];
}

/* So many counts before the end of a turn. */
static inline void
await_end(uint64_t before)
{
	uint64_t ended, begun = await_turn(&ended);

	spin_till(begun + turn - before);
}

#endif
