/*
 * The clock. Each hart has one comparator and two deadlines on it: the
 * scheduling tick, HZ times a second, and the next sample.
 *
 * The comparator is stimecmp where the device tree offers Sstc; otherwise the
 * firmware is asked (SBI TIME), which programs the CLINT's comparator. With
 * Sstc the CLINT only keeps the time that both compare with.
 *
 * All harts tick at the same moments: then QEMU, which under -icount runs one
 * hart at a time, can be made to give each its share (pass_turn).
 *
 * By default samples fall due with ticks. /dev/profclock gives them a rate of
 * their own, and random intervals as the 4.4BSD statclock had: a program in
 * step with a periodic clock is never, or always, seen.
 */
#include "clock.h"

#include "machine.h"
#include "print.h"
#include "proc/proc.h"
#include "sample.h"
#include "thread.h"

#define NAP_US      10
#define TURN_ROUNDS 6
#define WITH_TICK   UINT64_MAX /* as next_sample: it's no deadline of its own */

struct profclock profclock = {.hz = HZ, .seed = 1};

static uint64_t limit = UINT64_MAX; /* rdtime() at which to power off */

static void
set_timer(uint64_t when)
{
	if (machine.sstc)
		csr_write(CSR_STIMECMP, when);
	else
		sbi_set_timer(when);
}

static struct rate
rate_of(unsigned int hz)
{
	return (struct rate){
	    .counts = machine.timebase / hz,
	    .rest = machine.timebase % hz,
	    .hz = hz,
	};
}

/* One period, in timer counts. The rest is carried from period to period, so
 * that in the long run none is lost. */
static uint64_t
period(struct rate *r)
{
	r->carry += r->rest;
	if (r->carry < r->hz)
		return r->counts;
	r->carry -= r->hz;
	return r->counts + 1;
}

/* xorshift64*: fast, and good enough to spread samples. */
static uint64_t
random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

/* By how much intervals with jitter vary, in timer counts: 8192 us, halved till
 * that is no more than half the period and 100 us. */
static uint64_t
variation_of(unsigned int hz)
{
	uint64_t us = 8192;

	while (us > 1000000 / hz / 2 + 100)
		us /= 2;
	return us * machine.timebase / 1000000;
}

/* What jitter adds to a period: mean 0, uniform in -variation/2 + 1 ..
 * variation/2 - 1. At 100 Hz intervals are of 7953 to 12047 us. */
static int64_t
jitter(struct hart *h)
{
	uint64_t r;

	do /* the multiplication's high half: uniform in 0..variation-1 */
		r = (unsigned __int128)random_next(&h->random) * h->variation >>
		    64;
	while (r == 0);
	return (int64_t)r - (int64_t)(h->variation / 2);
}

static uint64_t
sample_interval(struct hart *h)
{
	uint64_t counts = period(&h->sample_rate);

	return h->variation < 2 ? counts : counts + jitter(h);
}

/* Start the sampling clock with the settings as they are now: with a tick. Out
 * of line, as pass_turn is: each interrupt would save registers for them. */
static __attribute__((noinline)) void
sample_restart(struct hart *h)
{
	h->profclock_seen = profclock.generation;
	h->next_sample = h->next_tick;
	if (profclock.hz == HZ && !profclock.jitter)
		h->next_sample = WITH_TICK;
	h->sample_rate = rate_of(profclock.hz);
	h->variation = profclock.jitter ? variation_of(profclock.hz) : 0;
	h->random = (profclock.seed + h->id) * 0x9e3779b97f4a7c15 | 1;
}

static uint64_t
next_due(const struct hart *h)
{
	return h->next_tick < h->next_sample ? h->next_tick : h->next_sample;
}

static void
arm(const struct hart *h)
{
	set_timer(next_due(h));
}

/*
 * Let the other harts run for NAP_US, for a wait that only they can end.
 * Under -icount QEMU runs one hart at a time, until the next timer's
 * deadline; a hart that spins can keep the one it waits for from running for
 * good. Here it sleeps, with a deadline of its own. SIE=0, so that the timer
 * can't be taken before the wfi, and is still pending after; arm() puts the
 * real deadline back and with that takes back the interrupt.
 */
void
clock_nap(void)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);

	set_timer(rdtime() + NAP_US * machine.timebase / 1000000);
	asm volatile("wfi" ::: "memory");
	arm(this_hart());
	csr_set(sstatus, sstatus & SSTATUS_SIE);
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
	sample_restart(h);
	arm(h);
}

/* From a deadline that has come to the next, an interval later; true: that has
 * passed too, and as many more as it takes are left out. */
static bool
advance(uint64_t *deadline, uint64_t interval, uint64_t now)
{
	*deadline += interval;
	if (now < *deadline)
		return false;
	*deadline += interval * ((now - *deadline) / interval + 1);
	return true;
}

/* Turns are counted by deadlines that all harts have at once: samples if they
 * come often and without jitter, else ticks. */
static uint64_t
turn_number(const struct hart *h)
{
	if (profclock.jitter || profclock.hz < HZ)
		return h->next_tick / (machine.timebase / HZ);
	return next_due(h) / (machine.timebase / profclock.hz);
}

/* The hart whose turn it is: each in order of those that have something to do.
 * NULL: none has, any more. */
static const struct hart *
turn_of(uint64_t number)
{
	unsigned int busy = 0, n;

	for (unsigned int i = 0; i < nharts; i++)
		busy += !harts[i].idling;
	if (!busy)
		return NULL;
	n = number % busy;
	for (unsigned int i = 0; i < nharts; i++)
		if (!harts[i].idling && n-- == 0)
			return &harts[i];
	return NULL; /* one went idle meanwhile */
}

/*
 * From deadline to deadline it is the turn of one hart, as far as this one can
 * see to it. QEMU, when it runs one hart at a time (-icount), goes on with the
 * next one when a hart sleeps; so here it sleeps, for an interrupt that is
 * pending already: anywhere else that takes no time. Left to itself QEMU 7.2
 * goes back to the same hart at every deadline of any timer, and lets it run
 * until the next; others that have work would stand still.
 *
 * The hart whose turn it is sleeps once, so that all others come to meet this
 * deadline; they sleep until it says that it goes on. (A fixed number of times
 * won't do: a hart that comes to it later than the others would find each of
 * its turns taken, for good.) It may not come to that, having gone idle or
 * being in the firmware: they sleep TURN_ROUNDS times at most.
 *
 * (A software interrupt that comes from elsewhere meanwhile may be cleared: it
 * asks for no more than what every interrupt does before it returns.)
 */
static __attribute__((noinline)) void
pass_turn(const struct hart *h)
{
	static uint64_t taken; /* the last turn whose hart went on */
	uint64_t turn = turn_number(h);
	bool mine = turn_of(turn) == h;
	int rounds = mine ? 1 : TURN_ROUNDS;
	unsigned long sie = csr_read(sie);

	csr_set(sip, SIE_SOFT);
	csr_set(sie, SIE_SOFT);
	while (rounds-- && rdtime() < next_due(h) &&
	       (mine || __atomic_load_n(&taken, __ATOMIC_RELAXED) != turn))
		asm volatile("wfi" ::: "memory");
	if (mine)
		__atomic_store_n(&taken, turn, __ATOMIC_RELAXED);
	csr_clear(sip, SIE_SOFT);
	csr_write(sie, sie);
}

void
clock_interrupt(const struct sample *where)
{
	struct hart *h = this_hart();
	uint64_t now = rdtime();
	bool late = false, due; /* a sample */

	h->last_pc = where->pc;
	due = now >=
	      (h->next_sample == WITH_TICK ? h->next_tick : h->next_sample);
	if (due) {
		sample(where, true);
		now = rdtime(); /* or a slow one would let nothing else run */
	}
	if (now >= h->next_tick) {
		late = advance(&h->next_tick, period(&h->tick_rate), now);
		h->owed += OWED_TICK;
	}
	if (now >= h->next_sample)
		late = advance(&h->next_sample, sample_interval(h), now);
	h->late_samples += due && late;
	if (h->profclock_seen != profclock.generation)
		sample_restart(h);
	arm(h);
	if (nharts > 1 && current != h->idle)
		pass_turn(h);
}

/* The ticks that are owed; user: the first interrupted user mode. */
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
	if (n == 0)
		return;
	h->ticks += n;
	if (p)
		__atomic_add_fetch(user ? &p->utime : &p->stime, n,
				   __ATOMIC_RELAXED);
	if (now >= __atomic_load_n(&timer_soonest, __ATOMIC_RELAXED))
		timer_tick(now);
	sched_tick();
	if (now >= limit)
		limit_reached();
	if (h->wanted) { /* it has no lock now: see nap_for */
		h->wanted = 0;
		clock_nap();
	}
}

/*
 * The slow half of lowering the level. A tick may fall due while the level
 * goes down again, so look once more after that; then let another thread have
 * its turn if this one's is over.
 */
void
level_pending(void)
{
	while (this_hart()->owed) {
		unsigned long sie = level_raise(LEVEL5_MASK);

		clock_tick(false);
		csr_write(sie, sie);
	}
	if (current->work & WORK_RESCHED)
		thread_resched();
}
