/*
 * The clock. Each hart has one comparator and two deadlines on it: the
 * scheduling tick, HZ times a second, and the next sample.
 *
 * The comparator is stimecmp where the device tree offers Sstc; otherwise the
 * firmware is asked (SBI TIME), which programs the CLINT's comparator. With
 * Sstc the CLINT only keeps the time that both compare with.
 *
 * All harts tick at the same moments: then QEMU, which under -icount runs one
 * hart at a time, can be made to give each its share (icount.c).
 *
 * When the next sample is due is the sampling clock's affair (sampleclock.c).
 */
#include "clock.h"

#include "icount.h"
#include "machine.h"
#include "print.h"
#include "proc/proc.h"
#include "sample.h"
#include "thread.h"

#define PAUSE 4 /* naps: another hart, a nap apart, surely looks at a lock */

static uint64_t limit = UINT64_MAX; /* rdtime() at which to power off */

void
clock_set_timer(uint64_t when)
{
	if (machine.sstc)
		csr_write(CSR_STIMECMP, when);
	else
		sbi_set_timer(when);
}

uint64_t
clock_next_due(const struct hart *h)
{
	uint64_t sample = h->sampleclock.strokes.next;

	return h->next_tick < sample ? h->next_tick : sample;
}

static void
arm(const struct hart *h)
{
	clock_set_timer(clock_next_due(h));
}

/*
 * The boot argument limit=MILLISECONDS counts from here. (The timer doesn't
 * start at 0: the firmware has taken its time.)
 */
void
clock_init(void)
{
	uint64_t ms = bootarg_number("limit", 0);

	if (ms)
		limit = rdtime() + ms * machine.timebase / 1000;
}

void
clock_init_hart(void)
{
	struct hart *h = this_hart();
	uint64_t now = rdtime();

	h->tick_rate = rate_of(HZ);
	h->next_tick = now - now % h->tick_rate.counts + h->tick_rate.counts;
	sampleclock_follow(h);
	arm(h);
}

void
clock_interrupt(const struct sample *where)
{
	struct hart *h = this_hart();
	struct sampleclock *c = &h->sampleclock;
	uint64_t now = rdtime(), begin = now;

	h->last_pc = where->pc;
	if (c->generation != profclock.generation)
		sampleclock_follow(h);
	if (now >= (c->with_tick ? h->next_tick : c->strokes.next)) {
		sample(where);
		c->taken++;
		now = rdtime(); /* or a slow one would let nothing else run */
		if (!c->with_tick)
			sampleclock_advance(c, begin, now);
	}
	if (now >= h->next_tick) {
		uint64_t missed = rate_pass(&h->tick_rate, &h->next_tick, now);

		if (c->with_tick)
			c->skipped += missed;
		__atomic_add_fetch(&h->owed, OWED_TICK, __ATOMIC_RELAXED);
	}
	arm(h);
	if (machine.icount)
		icount_meet(h, begin, where->ipl > 0);
}

/* What is owed; user: the first interrupted user mode. */
void
clock_tick(bool user)
{
	struct hart *h = this_hart();
	unsigned long owed = __atomic_exchange_n(&h->owed, 0, __ATOMIC_RELAXED);
	unsigned long n = owed / OWED_TICK;
	uint64_t now = rdtime();
	struct proc *p = current->proc;

	if (owed & OWED_SAMPLES)
		sample_deferred();
	if (owed & OWED_LOCK) /* this hart has none now: see nap_for */
		for (unsigned int i = 0; i < PAUSE; i++)
			clock_nap();
	if (n == 0)
		return;
	h->ticks += n;
	if (p)
		__atomic_add_fetch(user ? &p->utime : &p->stime, n,
				   __ATOMIC_RELAXED);
	if (now >= __atomic_load_n(&timer_soonest, __ATOMIC_RELAXED))
		timer_tick(now);
	if (icount_turn(h)) /* the others' threads have had nothing */
		sched_tick();
	if (now >= limit)
		limit_reached();
}

/*
 * The slow half of lowering the level: what is owed is done at level 5, so
 * that it can't get here again on the same stack. A tick may fall due while the
 * level goes down again, so look once more after that.
 */
void
level_pending(void)
{
	while (this_hart()->owed || current->work & WORK_RESCHED) {
		unsigned long sie = level_raise(LEVEL5_MASK);

		if (this_hart()->owed)
			clock_tick(false);
		if (current->work & WORK_RESCHED)
			thread_resched();
		csr_write(sie, sie);
	}
}
