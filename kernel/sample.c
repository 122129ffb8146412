/*
 * The sampler: every tick, on every hart, one sample goes to each profiler
 * that is armed. A fifth profiler is a file of its own and two lines here.
 */
#include "sample.h"

#include "clock.h"
#include "hart.h"

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

#define NPROFILERS (sizeof(profilers) / sizeof(profilers[0]))

/*
 * sampling is odd from before the first test of armed until the last count
 * is made: what sample_settle waits for.
 */
void
sample(const struct sample *s)
{
	struct hart *h = this_hart();

	__atomic_add_fetch(&h->sampling, 1, __ATOMIC_SEQ_CST);
	/* Unrolled, so that each has an address that is known. */
#pragma GCC unroll 8
	for (unsigned int i = 0; i < NPROFILERS; i++)
		if (profilers[i]->armed)
			profilers[i]->count(s);
	__atomic_add_fetch(&h->sampling, 1, __ATOMIC_RELEASE);
}

/* In one instruction, as the clock may interrupt it and adds to the word. */
void
sample_defer(void)
{
	__atomic_or_fetch(&this_hart()->owed, OWED_SAMPLES, __ATOMIC_RELAXED);
}

void
sample_deferred(void)
{
	for (unsigned int i = 0; i < NPROFILERS; i++)
		if (profilers[i]->deferred)
			profilers[i]->deferred();
}

/* The sampler waits for nobody, so this wait is short. */
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
