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

struct profclock profclock = {.hz = HZ, .seed = 1};

static uint64_t limit; /* rdtime() at which to power off; 0: none */

static void
set_timer(uint64_t when)
{
	if (machine.sstc)
		csr_write(CSR_STIMECMP, when);
	else
		sbi_set_timer(when);
}

/*
 * One period of a clock of hz, in timer counts. The division's remainder is
 * carried from period to period, so that in the long run none is lost.
 */
static uint64_t
period(unsigned int hz, uint32_t *carry)
{
	uint64_t counts = machine.timebase / hz;

	*carry += machine.timebase % hz;
	if (*carry >= hz) {
		*carry -= hz;
		counts++;
	}
	return counts;
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

/*
 * What jitter adds to a period: mean 0, uniform in -variation/2 + 1 ..
 * variation/2 - 1. The variation is 8192 us, halved until it is no more than
 * half the period and 100 us: at 100 Hz, intervals of 7953 to 12047 us.
 */
static int64_t
jitter(uint64_t *state)
{
	uint64_t period_us = 1000000 / profclock.hz;
	uint64_t variation = 8192;
	uint64_t r;

	while (variation > period_us / 2 + 100)
		variation /= 2;
	variation = variation * machine.timebase / 1000000;
	if (variation < 2)
		return 0;
	do /* the multiplication's high half: uniform in 0..variation-1 */
		r = (unsigned __int128)random_next(state) * variation >> 64;
	while (r == 0);
	return (int64_t)r - (int64_t)(variation / 2);
}

static uint64_t
sample_interval(struct hart *h)
{
	uint64_t counts = period(profclock.hz, &h->sample_carry);

	return profclock.jitter ? counts + jitter(&h->random) : counts;
}

/* Start the sampling clock with the settings as they are now: with a tick. */
static void
sample_restart(struct hart *h)
{
	h->profclock_seen = profclock.generation;
	h->next_sample = h->next_tick;
	h->sample_carry = 0;
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
	uint64_t counts = machine.timebase / HZ;
	uint64_t now = rdtime();

	h->next_tick = now - now % counts + counts;
	sample_restart(h);
	arm(h);
}

/* The deadline an interval after one that has come, or if that has passed too
 * several. */
static uint64_t
next_deadline(uint64_t deadline, uint64_t interval, uint64_t now)
{
	return deadline + interval * ((now - deadline) / interval + 1);
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
static void
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

/* Do what is due by now: a sample of where, and one more tick to be owed. */
static void
take_due(struct hart *h, const struct sample *where, uint64_t now)
{
	if (now >= h->next_sample) {
		uint64_t interval = sample_interval(h);

		sample(where, true);
		h->late_samples += now >= h->next_sample + interval;
		h->next_sample = next_deadline(h->next_sample, interval, now);
	}
	if (now >= h->next_tick) {
		h->owed++;
		h->next_tick = next_deadline(h->next_tick,
					     period(HZ, &h->tick_carry), now);
	}
	if (h->profclock_seen != profclock.generation)
		sample_restart(h);
}

/*
 * A deadline that comes while this runs is this interrupt's too. That is no
 * rare case under -icount: setting a timer makes QEMU go on with another hart,
 * and a whole period may pass before the next instruction here. It is no time
 * of the handler's, and must not be charged to it.
 */
void
clock_interrupt(const struct sample *where)
{
	struct hart *h = this_hart();

	h->last_pc = where->pc;
	do {
		take_due(h, where, rdtime());
		arm(h);
		if (nharts > 1 && current != h->idle)
			pass_turn(h);
	} while (rdtime() >= next_due(h));
}

/* The ticks that are owed; user: the first interrupted user mode. */
void
clock_tick(bool user)
{
	struct hart *h = this_hart();
	unsigned int n = __atomic_exchange_n(&h->owed, 0, __ATOMIC_RELAXED);
	uint64_t now = rdtime();
	struct proc *p = current->proc;

	h->ticks += n;
	if (p)
		__atomic_add_fetch(user ? &p->utime : &p->stime, n,
				   __ATOMIC_RELAXED);
	timer_tick(now);
	sample_tick();
	sched_tick(n);
	if (limit && now >= limit)
		limit_reached();
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
		thread_yield();
}
