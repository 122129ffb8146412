/*
 * The clock. Each hart has one timer, which interrupts when rdtime() reaches
 * its comparator: stimecmp where the device tree offers Sstc, else the CLINT's,
 * which the firmware programs (SBI TIME). It is set to the earlier of two
 * deadlines: the scheduler's tick, HZ times a second, and the next sample
 * (sampleclock.c).
 *
 * A tick has two parts. clock_interrupt runs with SIE=0 whatever was
 * interrupted, even the holder of a lock. So it takes the sample, and only
 * notes in hart->owed that the rest of the tick is to be done. clock_tick does
 * that rest at level 5, but only where no spinlock is held: later in the same
 * interrupt if it came at level 0, else when the level is lowered to 0
 * (level_pending). A third deadline does nothing: races.c.
 *
 * All harts tick at the same moments. Under -icount, where one hart executes at
 * a time, only that one has its timer on; the others have their ticks one after
 * the other, as the machine goes round (icount.c).
 */
#include "clock.h"

#include "base/panic.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"

#include "hart.h"
#include "icount.h"
#include "level.h"
#include "races.h"
#include "sampleclock.h"
#include "thread.h"
#include "timer.h"

#define PAUSE  4 /* naps, in which a waiting hart surely looks at its lock */
#define NAP_US 10

struct clock_sampler clock_sampler;

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
	uint64_t due = h->sampleclock.strokes->next;

	if (h->next_tick < due)
		due = h->next_tick;
	return h->next_turn < due ? h->next_turn : due;
}

static void
clock_arm(const struct hart *h)
{
	clock_set_timer(clock_next_due(h));
}

/* The boot argument limit=MILLISECONDS counts from here, as rdtime() doesn't
 * start at 0: the firmware has run before. */
void
clock_init(void)
{
	uint64_t ms = bootarg_number("limit", 0);

	if (ms)
		limit = rdtime() + ms * machine.timebase / 1000;
}

/* The first tick is at a multiple of the tick's length, as on all harts. */
void
clock_init_hart(void)
{
	struct hart *h = this_hart();
	uint64_t now = rdtime();

	h->tick_rate = rate_of(HZ);
	h->next_tick = now - now % h->tick_rate.counts + h->tick_rate.counts;
	sampleclock_follow(h);
	races_next(h, now);
	clock_arm(h);
}

/*
 * The next deadlines are later than the end of the sample: else, if a sample
 * took long, the next one would be due at once, and nothing else run. Ticks
 * that were missed are left out, and the samples due with them counted as
 * skipped.
 */
void
clock_interrupt(const struct sample *where)
{
	struct hart *h = this_hart();
	struct sampleclock *c = &h->sampleclock;
	uint64_t now = rdtime(), begin = now;

	if (c->generation != profclock.generation)
		sampleclock_follow(h);
	if (now >= (c->with_tick ? h->next_tick : c->strokes->next)) {
		clock_sampler.take(where);
		c->taken++;
		if (machine.icount)
			icount_sampled(h, where->mode == SAMPLE_IDLE, begin);
		now = rdtime();
		if (!c->with_tick)
			sampleclock_advance(c, begin, now);
	}
	if (now >= h->next_tick) {
		uint64_t missed = rate_pass(&h->tick_rate, &h->next_tick, now);

		if (c->with_tick)
			c->skipped += missed;
		__atomic_add_fetch(&h->owed, OWED_TICK, __ATOMIC_RELAXED);
		/* Not in clock_tick: a hart in a deadlock never comes there. */
		if (now >= limit)
			panic_limit();
	}
	if (now >= h->next_turn) {
		if (machine.icount)
			__atomic_or_fetch(&h->owed, OWED_TURN,
					  __ATOMIC_RELAXED);
		races_next(h, now);
	}
	clock_arm(h);
}

/*
 * Do what this hart owes. One exchange takes it from h->owed, as another hart
 * may add OWED_LOCK at any time. If `user', the process is charged user time
 * for the ticks; if not, system time. The pause lets a hart that waits for a
 * spinlock find it free: this hart holds none now (nap_for in lock.c).
 */
void
clock_tick(bool user)
{
	struct hart *h = this_hart();
	unsigned long owed = __atomic_exchange_n(&h->owed, 0, __ATOMIC_RELAXED);
	unsigned long n = owed / OWED_TICK;
	uint64_t now = rdtime();
	struct task *task = current->task;

	if (owed & OWED_SAMPLES)
		clock_sampler.later();
	if (owed & OWED_LOCK)
		for (unsigned int i = 0; i < PAUSE; i++)
			clock_nap();
	if (n == 0)
		return;
	h->ticks += n;
	if (task) {
		__atomic_add_fetch(user ? &task->utime : &task->stime, n,
				   __ATOMIC_RELAXED);
		if (task->timed)
			thread_calls.ticked(user, n);
	}
	if (now >= __atomic_load_n(&timer_soonest, __ATOMIC_RELAXED))
		timer_tick(now);
	sched_tick();
}

/* SIE is 0, so the timer's interrupt isn't taken: neither before the wfi, which
 * would then sleep on, nor after it, since it stops being pending when the
 * hart's real deadline is set again. */
void
clock_nap(void)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);
	struct hart *h = this_hart();

	if (!machine.icount || !icount_nap(h)) {
		clock_set_timer(rdtime() + NAP_US * machine.timebase / 1000000);
		asm volatile("wfi" ::: "memory");
		clock_arm(h);
	}
	csr_set(sstatus, sstatus & SSTATUS_SIE);
}

/*
 * The slow half of lowering the level to 0. A tick that comes during the work,
 * at level 5, is only noted, so this isn't called again on the same stack. One
 * may come just before the level is lowered again: so the loop looks again.
 */
void
level_pending(void)
{
	while (this_hart()->owed || current->work & WORK_RESCHED) {
		unsigned long sie = level_raise(LEVEL5_MASK);

		if (this_hart()->owed) {
			clock_tick(false);
			if (machine.icount)
				csr_set(sip, SIE_SOFT); /* see icount_wait */
		}
		if (current->work & WORK_RESCHED)
			thread_resched();
		csr_write(sie, sie);
	}
}
