/*
 * What belongs to one hart. Touched by its own hart only, at a raised level,
 * but for the fields that say otherwise.
 */
#ifndef KERNEL_HART_H
#define KERNEL_HART_H

#include "lock.h"
#include "offsets.h"
#include "sampleclock.h"

#define HART_MAX 16 /* pcs has four bits for a hart's number */

struct thread;

#define OWED_SAMPLES 1 /* what profilers have deferred */
#define OWED_LOCK    2 /* a pause: others wait for a lock that it had */
#define OWED_TICK    4 /* each tick adds this */

struct hart {
	unsigned int id;     /* logical: 0, 1, 2.. in the device tree's order */
	unsigned int hartid; /* the hardware's, which SBI and the PLIC want */
	struct thread *idle;

	unsigned long owed;    /* work that waits for level 0: by atomics, any
				* hart */
	unsigned int depth;    /* interrupt handlers in progress */
	unsigned long last_pc; /* what the timer last interrupted; any hart */

	uint64_t next_tick; /* deadline, in timer counts */
	struct rate tick_rate;
	struct sampleclock sampleclock;
	uint64_t ticks;        /* since boot; any hart */
	unsigned int sampling; /* odd while the sampler runs; any hart */
	unsigned int flush_asked, flush_done; /* mm/ktable.c; any hart */

	/* Under sched_lock: */
	unsigned int idling;    /* waits for something to do: set by itself,
				 * cleared by who has that */
	struct thread *running; /* NULL: the idle thread */
	uint64_t since;         /* rdtime() */
};

extern struct hart harts[HART_MAX];
extern unsigned int nharts; /* of those the machine has, how many run */

/*
 * The hart this runs on. A thread at level 0 may find itself on another right
 * after; so raise the level first, unless any hart will do.
 */
static inline struct hart *
this_hart(void)
{
	struct hart *h;

	asm volatile("ld %0, %1(tp)" : "=r"(h) : "i"(T_HART));
	return h;
}

/* Do the work of the ticks that are owed (clock.c). Level 0. */
void level_pending(void);

/* Lower to a sie that level_raise gave: first sie, then the work owed. */
static inline void
level_lower(unsigned long sie)
{
	csr_write(sie, sie);
	if ((sie & SIE_SOFT) && this_hart()->owed)
		level_pending();
}

#endif
