/*
 * When samples fall due, and how many couldn't be taken. strokes.h says what
 * each function is for.
 *
 * So far each stroke is an interval later than the moment at which the last one
 * was noticed, and nobody knows of those that were missed.
 */
#include "strokes.h"

#include "base/riscv.h"
#include "machine/machine.h"

#include "hart.h"
#include "sampleclock.h"

void
strokes_follow(struct hart *h)
{
	const struct profclock *p = &profclock;
	struct sampleclock *c = &h->sampleclock;
	unsigned int generation = __atomic_load_n(&p->generation,
						  __ATOMIC_ACQUIRE);

	if (p->held) {
		c->next = NEVER;
	} else {
		c->next = rdtime() + machine.timebase / p->hz;
		c->taken_before = c->taken;
		c->skipped_before = c->skipped;
	}
	__atomic_store_n(&c->generation, generation, __ATOMIC_RELEASE);
}

bool
strokes_due(struct hart *h, uint64_t now)
{
	struct sampleclock *c = &h->sampleclock;

	c->next = now + machine.timebase / profclock.hz;
	c->taken++;
	return true;
}

void
strokes_counts(const struct hart *h, uint64_t counts[STROKES_COUNTS])
{
	const struct sampleclock *c = &h->sampleclock;

	for (unsigned int i = 0; i < STROKES_COUNTS; i++)
		counts[i] = 0;
	counts[STROKES_DUE] = counts[STROKES_TAKEN] = c->taken -
						      c->taken_before;
}
