/*
 * Random turns of the harts, to find races under QEMU's -icount.
 *
 * Where one hart executes at a time, two of them seldom meet in the few
 * instructions in which a race is lost. But every run is the same to the byte:
 * a race that was found once is found again. So it's worth trying many runs
 * that differ in where one hart stops and the next goes on.
 *
 * With the boot argument races=SEED, which scripts/run gives for --races SEED,
 * each hart has one deadline more, at random moments. QEMU executes no hart
 * beyond a deadline of any. It counts the instructions up to there, and stops
 * between any two of them, also where interrupts are off; then others go on.
 * The handler does nothing but set the next deadline.
 *
 * The harts don't take turns as they otherwise do under -icount (icount.c).
 * Each deadline would be a meeting of all of them, and most of the time be
 * spent on meetings; on eight harts some seeds found nothing. What one hart
 * gets and another doesn't is up to QEMU: so times mean nothing here.
 */
#include "races.h"

#include "base/random.h"
#include "machine/machine.h"

#include "hart.h"
#include "sampleclock.h"

/* Between two deadlines of a hart there are this many interrupt_costs for each
 * hart on the average; so at least half of the time is left for other work. */
#define PART 8

/* Of the random numbers; 0: there is no such boot argument. Plain, as one hart
 * executes at a time. */
static uint64_t state;

void
races_next(struct hart *h, uint64_t now)
{
	uint64_t most = 2 * PART * nharts * interrupt_cost;

	if (state == 0 && bootarg_present("races"))
		state = bootarg_number("races", 0) * RANDOM_SPREAD | 1;
	h->next_turn = state != 0 ? now + 1 + random_next(&state) % most
				  : NEVER;
}
