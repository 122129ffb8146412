/*
 * The sampling clock: when samples fall due on a hart, and how many of those
 * could not be taken. clock.c asks it at each timer interrupt.
 */
#ifndef KERNEL_SAMPLECLOCK_H
#define KERNEL_SAMPLECLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hart;

#define NEVER UINT64_MAX /* a deadline that doesn't come */

/*
 * How often a clock comes: hz times a second. That is a deadline every counts +
 * rest/hz timer counts; carry is what the fractions have come to, in 1/hz.
 */
struct rate {
	uint64_t counts;
	uint32_t rest, hz, carry;
};

struct rate rate_of(unsigned int hz);
/* The same for a deadline whose successor isn't after `until` either. */
uint64_t rate_pass_over(struct rate *r, uint64_t *deadline, uint64_t until);

/*
 * A deadline has come: move it to the first one after `until`. Returns how many
 * are passed over; mostly none, so there is no division here. The rest is
 * carried over, so that in the long run none is lost.
 */
static inline uint64_t
rate_pass(struct rate *r, uint64_t *deadline, uint64_t until)
{
	*deadline += r->counts;
	r->carry += r->rest;
	if (r->carry >= r->hz) {
		r->carry -= r->hz;
		++*deadline;
	}
	return *deadline > until ? 0 : rate_pass_over(r, deadline, until);
}

/*
 * The settings, as /dev/profclock shows them. Whoever changes them waits until
 * every hart follows, and only one does so at a time (dev/profclock.c has the
 * lock): so a hart that finds a new generation can read the rest.
 */
struct profclock {
	unsigned int hz;     /* samples that fall due a second, on each hart */
	bool jitter;         /* intervals are random, their mean 1/hz */
	bool held;           /* none falls due */
	uint64_t seed;       /* of the random intervals */
	unsigned int series; /* counts how often these began with the seed */
	uint64_t since;      /* when the last change was made, or just before */
	unsigned int generation; /* counts changes; atomic */
};

extern struct profclock profclock;
extern uint64_t interrupt_cost; /* of one that does nothing, in counts */

/* All harts' clocks start anew with the settings as they are now; on return all
 * have. Level 0. */
void sampleclock_apply(void);

/* Deadlines, one after another. */
struct strokes {
	uint64_t next;   /* NEVER: on hold, or with the scheduler's tick */
	uint64_t number; /* of next: how many were before it */
	struct rate rate;
	uint64_t variation;  /* what jitter may add; 0: it's off */
	uint64_t random;     /* state of the jitter's generator.. */
	unsigned int series; /* ..and the series it belongs to */
};

/*
 * A hart's clock. The hart itself changes it, in the timer's interrupt. Any
 * hart may read the generation, and the counts since boot: a sample that falls
 * due is either taken or skipped.
 */
struct sampleclock {
	struct strokes strokes;
	bool with_tick; /* a sample is due with each tick of the scheduler */
	unsigned int generation; /* of the settings it follows */
	uint64_t cost;           /* of a sample on this hart: see cost_update */
	uint64_t ahead;          /* skipped ones that were counted beforehand */
	uint64_t taken, skipped;
	uint64_t taken_before, skipped_before; /* the last start */
};

/* The samples that were skipped, on all harts, while it was on. */
struct skips {
	bool on;
	uint64_t before, start; /* counted till it was last turned on; then */
};

/* Whoever calls these sees to it that only one does so at a time. */
void skips_switch(struct skips *s, bool on);
uint64_t skips_count(const struct skips *s);

/* Measure what an interrupt costs: once, before other harts run. */
void sampleclock_init(void);
/* Follow the settings, which have changed. */
void sampleclock_follow(struct hart *h);
/* A sample has been taken, from `now` to `end`: when is the next? */
void sampleclock_advance(struct sampleclock *c, uint64_t now, uint64_t end);
/* Under icount: all harts have taken their samples, and one goes on; so many
 * are yet to leave their interrupts. */
void sampleclock_met(uint64_t now, unsigned int leaving);

#endif
