/*
 * What belongs to one hart. Only that hart may use these fields, at a raised
 * level, except for those marked "any hart", which others may read, or change
 * by atomics, without a lock, and those under sched_lock.
 */
#ifndef KERNEL_HART_H
#define KERNEL_HART_H

#include "lock.h"
#include "machine/machine.h"
#include "offsets.h"
#include "sampleclock.h"

struct thread;

/* hart.owed: what clock_tick is to do. The ticks are counted above the bits. */
#define OWED_SAMPLES 1 /* what profilers have deferred */
#define OWED_LOCK    2 /* a pause: others wait for a lock that it had */
#define OWED_TURN    4 /* its turn is over: icount.c */
#define OWED_TICK    8

struct hart {
	unsigned int id;     /* logical: 0, 1, 2.. in the device tree's order */
	unsigned int hartid; /* the hardware's, which SBI and the PLIC want */
	struct thread *idle;

	unsigned long owed;    /* work that waits for level 0; any hart */
	unsigned int depth;    /* interrupt handlers in progress */
	unsigned long last_pc; /* what the timer last interrupted; any hart */
	const struct spinlock *wanted; /* it waits for this one; any hart */

	uint64_t next_tick; /* deadlines, in timer counts */
	uint64_t next_turn; /* icount.c, races.c */
	struct rate tick_rate;
	struct sampleclock sampleclock;
	uint64_t ticks;        /* since boot; any hart */
	unsigned int sampling; /* odd while the sampler runs; any hart */
	unsigned int flush_asked, flush_done; /* mm/ktable.c; any hart */

	/* idling: the idle thread sleeps, or is about to (sched_idle).
	 * running: NULL if that is the idle thread. on: when it began to run.
	 * since: up to this rdtime() its time has been counted; that is later
	 * by what it isn't charged for (icount.c). */
	unsigned int idling GUARDED_BY(sched_lock);
	struct thread *running GUARDED_BY(sched_lock);
	uint64_t on GUARDED_BY(sched_lock), since GUARDED_BY(sched_lock);
};

extern struct hart harts[HART_MAX];
extern unsigned int nharts; /* of those the machine has, how many run */

/* The hart that executes this. The caller must have raised the level, unless
 * any hart will do: else the thread may be on another one right after. */
static inline struct hart *
this_hart(void)
{
	struct hart *h;

	asm volatile("ld %0, %1(tp)" : "=r"(h) : "i"(T_HART));
	return h;
}

/* Interrupt h: it is to look for what it should do. Under -icount it does so
 * when it gets the machine next; at once, if this hart naps (icount.c). */
void hart_interrupt(struct hart *h);

/* Is h idle? Without sched_lock this may be out of date, which icount.c allows
 * for: a hart gets a turn that it doesn't need, or misses one. */
static inline UNGUARDED bool
hart_idling(const struct hart *h)
{
	return __atomic_load_n(&h->idling, __ATOMIC_RELAXED);
}

/* Do the work that is owed, and give way to another thread if that is due. The
 * caller is at level 0, or about to return to it. */
void level_pending(void);

/*
 * Lower the level to what it was: sie is level_raise's result. It is written
 * before owed is looked at. In the other order, a tick between the two would be
 * noted in owed, as the level is still raised, and nobody would look there.
 */
static inline void
level_lower(unsigned long sie)
{
	csr_write(sie, sie);
	if ((sie & SIE_SOFT) && this_hart()->owed)
		level_pending();
}

#endif
