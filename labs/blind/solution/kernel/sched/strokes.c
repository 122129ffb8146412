/*
 * When samples fall due, and how many couldn't be taken.
 *
 * Where a stroke stands depends on its number alone, and not on what became of
 * those before. So whatever comes late, the next stroke isn't. A stroke is
 * counted when it has passed: as taken, or as skipped.
 */
#include "strokes.h"

#include "base/riscv.h"
#include "machine/machine.h"

#include "clock.h"
#include "hart.h"
#include "lab.h"
#include "sampleclock.h"

/* Only its own hart uses it, with SIE=0. */
static struct strokes {
	uint64_t base; /* strokes are counted from here: stroke 0 */
	uint64_t hz, seed;
	uint64_t spread; /* by how much jitter may move a stroke; 0: it's off */
	uint64_t passed; /* the last one that has been counted */
	uint64_t next;   /* the next one at which a sample may be taken */
	uint64_t late;   /* of those that were noticed too late */
	uint64_t longest; /* that one was late */
} all[HART_MAX];

static uint64_t
stroke(const struct strokes *s, uint64_t n)
{
	uint64_t at = s->base + LAB_DIVIDE(n * machine.timebase, s->hz);

	if (s->spread)
		at = LAB_MOVED(at, stroke_random(s->seed, n) % s->spread,
			       s->spread);
	return at;
}

/* The last stroke that isn't later than `now'. Jitter moves none by more than
 * half a period. */
static uint64_t
last_stroke(const struct strokes *s, uint64_t now)
{
	uint64_t n = (now - s->base) * s->hz / machine.timebase + 2;

	while (n > 0 && stroke(s, n) > now)
		n--;
	return n;
}

/* Count all strokes up to the last one, of which so many are taken. One that
 * was noticed after a change, but before the change was, has been counted. */
static void
pass(struct strokes *s, struct sampleclock *c, uint64_t last,
     unsigned int taken)
{
	if (last <= s->passed)
		return;
	c->taken += taken;
	c->skipped += last - s->passed - taken;
	s->passed = last;
}

static void
start(struct strokes *s)
{
	const struct profclock *p = &profclock;

	*s = (struct strokes){
	    .base = LAB_BASE(p->since, machine.timebase / HZ,
			     machine.timebase / p->hz),
	    .hz = p->hz,
	    .seed = p->seed,
	    .spread = p->jitter ? machine.timebase / p->hz / LAB_PART : 0,
	};
	s->passed = last_stroke(s, p->since);
	s->next = s->passed + 1;
}

void
strokes_follow(struct hart *h)
{
	const struct profclock *p = &profclock;
	struct sampleclock *c = &h->sampleclock;
	struct strokes *s = &all[h->id];
	unsigned int generation = __atomic_load_n(&p->generation,
						  __ATOMIC_ACQUIRE);

	if (s->hz && c->next != NEVER)
		pass(s, c, last_stroke(s, p->since), 0);
	if (p->held) {
		c->next = NEVER;
	} else {
		c->taken_before = c->taken;
		c->skipped_before = c->skipped;
		start(s);
		c->next = stroke(s, s->next);
	}
	__atomic_store_n(&c->generation, generation, __ATOMIC_RELEASE);
}

/* The next one is later than all that have passed, and not too close to the one
 * for which a sample is taken. */
bool
strokes_due(struct hart *h, uint64_t now)
{
	struct sampleclock *c = &h->sampleclock;
	struct strokes *s = &all[h->id];
	uint64_t last = last_stroke(s, now);
	uint64_t at = stroke(s, LAB_FIRST ? s->next : last);
	uint64_t us = machine.timebase / 1000000;
	bool late = now - at > STROKES_LATE_US * us;
	bool take = !late || !LAB_DROPPED;

	s->late += late;
	if (now - at > s->longest)
		s->longest = now - at;
	pass(s, c, last, take);
	s->next = last + 1;
	while (take && stroke(s, s->next) < at + STROKES_REST_US * us)
		s->next++;
	c->next = stroke(s, s->next);
	return take;
}

void
strokes_counts(const struct hart *h, uint64_t counts[STROKES_COUNTS])
{
	const struct sampleclock *c = &h->sampleclock;
	const struct strokes *s = &all[h->id];

	counts[STROKES_TAKEN] = c->taken - c->taken_before;
	counts[STROKES_SKIPPED] = c->skipped - c->skipped_before;
	counts[STROKES_DUE] = counts[STROKES_TAKEN] + counts[STROKES_SKIPPED];
	counts[STROKES_LATE] = s->late;
	counts[STROKES_LONGEST] = LAB_UNIT(s->longest);
}
