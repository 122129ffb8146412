/*
 * The sampler: it hands each sample, on whatever hart it is taken, to all
 * profilers that are armed. A fifth profiler would be a file of its own and two
 * lines here.
 *
 * The clock calls sample, through the pointer clock_sampler, with SIE=0. The
 * profilers call the other functions: sample_defer from their count, the others
 * at level 0, to turn themselves on and off.
 *
 * No lock keeps the sampler from a profiler that is being turned off, since the
 * sampler can't wait for one. Instead each hart has a sequence number,
 * hart->sampling. The hart adds 1 when it enters the sampler and when it
 * leaves, so the number is odd while the hart is inside. Whoever has disarmed a
 * profiler waits until each hart that was inside has left (sample_settle).
 * docs/locks.md has the litmus tests.
 */
#include "sample.h"

#include "base/compiler.h"
#include "sched/clock.h"
#include "sched/hart.h"

#include "pcslog.h"

extern struct profiler kprof_profiler;
extern struct profiler prf_profiler;
extern struct profiler pcs_profiler;
extern struct profiler profil_profiler;

static struct profiler *const profilers[] = {
    &pcs_profiler,
    &kprof_profiler,
    &prf_profiler,
    &profil_profiler,
};

#define NPROFILERS ARRAY_SIZE(profilers)

/*
 * sample_settle relies on the two memory orders: sampling is odd before the
 * first test of armed is made, and even again only when all counts have been
 * stored.
 */
void
sample(const struct sample *s)
{
	struct hart *h = this_hart();

	__atomic_add_fetch(&h->sampling, 1, __ATOMIC_SEQ_CST);
	/* Unrolled, so that the compiler knows each profiler's address. */
#pragma GCC unroll 8
	for (unsigned int i = 0; i < NPROFILERS; i++)
		if (profilers[i]->armed)
			profilers[i]->count(s);
	__atomic_add_fetch(&h->sampling, 1, __ATOMIC_RELEASE);
}

/* The bit is set by one atomic instruction: the clock may interrupt here and
 * add a tick to the same word, and another hart may set OWED_LOCK in it. */
void
sample_defer(void)
{
	__atomic_or_fetch(&this_hart()->owed, OWED_SAMPLES, __ATOMIC_RELAXED);
}

/* clock_tick calls this for OWED_SAMPLES, at level 5 with no spinlock held. The
 * bit doesn't say which profiler has set it, so all are asked. */
static void
sample_deferred(void)
{
	for (unsigned int i = 0; i < NPROFILERS; i++)
		if (profilers[i]->deferred)
			profilers[i]->deferred();
}

/* A hart that is inside may leave and enter again before this looks: so any
 * change of an odd number will do. The wait is short, as the sampler waits for
 * nobody. */
void
sample_settle(void)
{
	for (unsigned int i = 0; i < nharts; i++) {
		unsigned int *sampling = &harts[i].sampling;
		unsigned int seen = __atomic_load_n(sampling, __ATOMIC_SEQ_CST);

		if (seen & 1)
			while (__atomic_load_n(sampling, __ATOMIC_ACQUIRE) ==
			       seen)
				clock_nap();
	}
}

/* The stores that prepared the profiler come before this one. */
void
sample_arm(struct profiler *p)
{
	__atomic_store_n(&p->armed, 1, __ATOMIC_SEQ_CST);
}

void
sample_disarm(struct profiler *p)
{
	__atomic_store_n(&p->armed, 0, __ATOMIC_SEQ_CST);
	sample_settle();
}

void
sample_serve(void)
{
	clock_sampler = (struct clock_sampler){
	    .take = sample,
	    .later = sample_deferred,
	};
}
