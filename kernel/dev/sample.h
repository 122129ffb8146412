/*
 * The sampler (sample.c): what a profiler is, and how it is turned on and off.
 * struct sample, what a profiler is told of each sample, is in sched/clock.h.
 */
#ifndef KERNEL_SAMPLE_H
#define KERNEL_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sched/clock.h"

/*
 * A profiler. There are four: pcs, kprof, prf and profil. count is called with
 * SIE=0, on any number of harts at once. It may have interrupted any code of
 * the kernel. So it must not take a lock that other code holds, allocate
 * memory, or wait for a page of user memory.
 */
struct profiler {
	/* count is called only while this isn't 0. kprof and pcs change it by
	 * the functions below. prf and profil count in it how many tables are
	 * on, or how many processes have a histogram. */
	volatile int armed;
	void (*count)(const struct sample *s);
	/* Does what count has put off by sample_defer, such as waking up a
	 * reader. Called at level 5; NULL: nothing is ever put off. */
	void (*deferred)(void);
};

void sample_serve(void); /* set clock_sampler: at boot, before anything else */

/* Hand s, one of the clock's samples or a synthetic one, to all profilers that
 * are armed. On any hart, with SIE=0. */
void sample(const struct sample *s);

/*
 * For a profiler's count, which can't take the locks that waking up needs: have
 * this hart call all `deferred' functions as soon as it is at level 0. The
 * caller's level must be 1 or higher, so that it stays on this hart.
 */
void sample_defer(void);

/*
 * Wait until each hart that is in the sampler now has left it. Such a hart may
 * still use what the caller has just replaced or turned off; a hart that enters
 * later doesn't. For a profiler that turns off a part of itself. At level 0.
 */
void sample_settle(void);

/*
 * sample_disarm clears p->armed and waits until every hart has left the
 * sampler. On return nothing is being counted, so what p->count uses may be
 * cleared or freed. Before sample_arm, all that p->count uses must be ready.
 */
void sample_disarm(struct profiler *p);
void sample_arm(struct profiler *p);

/* The word `sample' of /dev/profclock: synthetic.c. argv is as in ctl.h. */
int synthetic_samples(char **argv);

#endif
