/* When samples fall due on a hart, and how many of them could not be taken. */
#ifndef KERNEL_SAMPLECLOCK_H
#define KERNEL_SAMPLECLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hart;

#define NEVER UINT64_MAX

/*
 * A rate of hz deadlines a second, one each counts + rest/hz timer counts.
 * carry is the sum of the fractions so far, in 1/hz. For example, at 10 MHz and
 * 3 Hz counts is 3333333 and rest 1: every third interval is longer by one.
 */
struct rate {
	uint64_t counts;
	uint32_t rest, hz, carry;
};

struct rate rate_of(unsigned int hz);
/* The part of rate_pass for a deadline whose successor has passed, too. */
uint64_t rate_pass_over(struct rate *r, uint64_t *deadline, uint64_t until);

/* A deadline has come: move it on, past those that `until` has passed as well.
 * Returns how many these are; mostly none, for which no division is needed. */
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
 * The settings, as /dev/profclock shows them. Only one thread changes them at a
 * time, with the mutex of dev/profclock.c, and waits until every hart follows.
 * So a hart that finds a new generation can read the others without a lock.
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

/* The settings have been changed: have the clocks of all harts start anew with
 * them, and wait until they have. Must be called at level 0. */
void sampleclock_apply(void);

/* The moments at which samples fall due, one after another. */
struct strokes {
	uint64_t next;   /* NEVER: on hold, or with the scheduler's tick */
	uint64_t number; /* of next: how many were before it */
	struct rate rate;
	uint64_t owed;       /* of a stroke to be skipped: see strokes_draw */
	uint64_t random;     /* state of their generator.. */
	unsigned int series; /* ..and the series it belongs to */
	bool jitter;         /* they are random */
	uint64_t cost;       /* of a sample: see cost_update */
	uint64_t paid;       /* since the last sample; atomic */
	uint64_t ahead;      /* skipped ones that were counted beforehand.. */
	struct sampleclock *of; /* ..by this clock, which had the last sample */
};

/* A hart's clock, changed by itself only, in the timer's interrupt. Any hart
 * may read generation and the counts: samples due are taken or skipped. */
struct sampleclock {
	struct strokes own, *strokes; /* own; under -icount, all harts' */
	bool with_tick;
	unsigned int generation; /* of the settings it follows */
	uint64_t taken, skipped;
	uint64_t taken_before, skipped_before; /* at the last start */
	int64_t idle_due, idle_skips;          /* parts of these: icount.c */
};

/* The samples that were skipped, on all harts, while a profiler was on. */
struct skips {
	bool on;
	uint64_t before, start; /* counted so far; those since boot by then */
};

/* The caller must see to it that only one calls these at a time. */
void skips_switch(struct skips *s, bool on);
uint64_t skips_count(const struct skips *s);

/* Measure what an interrupt costs: once, before other harts run. */
void sampleclock_init(void);
/* Follow the settings, which have changed. h is this hart. */
void sampleclock_follow(struct hart *h);
/* A sample has been taken, from `now` to `end`: find the next stroke. */
void sampleclock_advance(struct sampleclock *c, uint64_t now, uint64_t end);
/* A thread on this hart has spent this time on a sample after it was taken, in
 * addition to one interrupt_cost. It counts as the next sample's cost. */
void sampleclock_paid(uint64_t time);

#endif
