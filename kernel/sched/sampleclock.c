/*
 * The sampling clock: when samples fall due. clock.c takes them.
 *
 * A stroke is a moment at which a sample falls due: by default each of the
 * scheduler's ticks. /dev/profclock can give samples a rate of their own, and
 * random intervals (jitter): a program that runs in step with a periodic clock
 * would be seen always, or never. 4.4BSD's statclock had such; here they have
 * an exponential distribution, so that nothing follows from the sample before.
 *
 * No rate can take a hart away from its other work. The time that a sample
 * costs is measured, and the next one is taken at the first stroke that leaves
 * other work at least as much time as the samples take. Strokes before that are
 * skipped, and counted. For example, at 20000 Hz a stroke is due every 50 us.
 * If a sample costs 40 us, the next one must not be due before 80 us from its
 * start, so every other stroke is skipped.
 *
 * Under -icount one hart executes at a time, and time passes for all
 * (icount.c). There all harts have their strokes in common, and each is a
 * sample of the hart that has executed up to it: so a function has as many
 * samples as it executes instructions, on whatever hart. Samples that come with
 * the tick are still taken on every hart, where it stands.
 *
 * Read sampleclock_advance first, the next stroke after a sample, and then
 * sampleclock_follow, a change of the settings. Both are called with SIE=0.
 */
#include "sampleclock.h"

#include "base/random.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"

#include "clock.h"
#include "hart.h"
#include "icount.h"

#define WARM_UP 2  /* interrupts that the host translates first */
#define ROUNDS  16 /* interrupts of which the shortest counts */

/* What a sample costs besides the time measured, in interrupt_costs: the
 * interrupt, what profilers have deferred, and profil's payment (thread_work),
 * of which only a search among ranges is measured. */
#define OUTSIDE 3

struct profclock profclock = {.hz = HZ, .seed = 1, .series = 1};

uint64_t interrupt_cost;

struct rate
rate_of(unsigned int hz)
{
	return (struct rate){
	    .counts = machine.timebase / hz,
	    .rest = machine.timebase % hz,
	    .hz = hz,
	};
}

uint64_t
rate_pass_over(struct rate *r, uint64_t *deadline, uint64_t until)
{
	uint64_t n = (until - *deadline) * r->hz / machine.timebase + 1;
	uint64_t carry = r->carry + n * r->rest;

	*deadline += n * r->counts + carry / r->hz;
	r->carry = carry % r->hz;
	return n;
}

/*
 * A random time of exponential distribution, with this mean, by von Neumann's
 * method: draw numbers as long as each is less than the one before. If there
 * are an odd number of these, the first says when within a mean; otherwise that
 * mean passes, and it is tried again.
 */
static uint64_t
exponential(uint64_t *random, uint64_t mean)
{
	for (uint64_t passed = 0;; passed += mean) {
		uint64_t first = random_next(random), last = first, next;
		bool odd = true;

		while ((next = random_next(random)) < last) {
			last = next;
			odd = !odd;
		}
		if (odd)
			return passed + ((unsigned __int128)first * mean >> 64);
	}
}

/* Go on to the first stroke after `until'. */
static void
strokes_pass(struct strokes *s, uint64_t until)
{
	s->number += 1 + rate_pass(&s->rate, &s->next, until);
}

/*
 * The same with jitter, after a sample that began at `now' and costs so much.
 * From its end on the next stroke is as likely at one moment as at any other,
 * however long ago the last one was. So whatever a program does at regular
 * times, its samples are independent of each other, as the intervals of shares
 * suppose. On average other work has what the period leaves, but no less than
 * the sample has taken: then strokes are skipped. `owed' is the part of one
 * that is still to be skipped, times the timebase.
 */
static void
strokes_draw(struct strokes *s, uint64_t now, uint64_t cost)
{
	uint64_t hz = s->rate.hz, end = now + cost;
	uint64_t used = (end - s->next) * hz, least = cost * hz;
	uint64_t rest = machine.timebase - used;

	s->number++;
	if (used + least > machine.timebase) {
		rest = least;
		s->owed += used + rest - machine.timebase;
		s->number += s->owed / machine.timebase;
		s->owed %= machine.timebase;
	}
	s->next = end + exponential(&s->random, rest) / hz;
}

/*
 * Take the latest cost, in counts, into *cost, in eighths; return the new one
 * in counts. It goes down at once but up by an eighth of the difference: a
 * sample during which the host ran something else only looks expensive.
 */
static uint64_t
cost_update(uint64_t *cost, uint64_t now)
{
	if (*cost == 0 || now * 8 < *cost)
		*cost = now * 8;
	else
		*cost += now - *cost / 8;
	return *cost / 8;
}

/* Under -icount, of all harts; and the generation of the settings that they
 * follow. Who executes uses them. */
static struct strokes common = {.next = NEVER};
static unsigned int common_generation;

/* It only makes the interval longer that begins now, as the next sample may be
 * another process's. */
void
sampleclock_paid(uint64_t time)
{
	__atomic_add_fetch(&this_hart()->sampleclock.strokes->paid, time,
			   __ATOMIC_RELAXED);
}

/* So many strokes are skipped, which would have been samples of c. */
static void
skip(struct sampleclock *c, int64_t n)
{
	c->skipped += n;
	if (machine.icount && n != 0)
		icount_skip_idle(n);
}

/* Twice the cost from the start of a sample: half of the time is for the
 * sample, and at least half is left to other work. Under -icount no host makes
 * a sample look expensive, so each costs what it has taken. */
void
sampleclock_advance(struct sampleclock *c, uint64_t now, uint64_t end)
{
	struct strokes *s = c->strokes;
	uint64_t number = s->number, cost = end - now;

	if (!machine.icount)
		cost = cost_update(&s->cost, cost);
	cost += OUTSIDE * interrupt_cost +
		__atomic_exchange_n(&s->paid, 0, __ATOMIC_RELAXED);
	if (s->jitter)
		strokes_draw(s, now, cost);
	else
		strokes_pass(s, now + 2 * cost);
	s->ahead = s->number - number - 1;
	s->of = c;
	skip(c, s->ahead);
}

/* The number of strokes from now to the next one, which isn't counted. */
static uint64_t
strokes_before_next(const struct strokes *s, uint64_t now)
{
	return (s->next - now - 1) * s->rate.hz / machine.timebase;
}

/*
 * The settings change at time `now'. sampleclock_advance counts strokes as
 * skipped in advance: those after now, which will not come any more, are taken
 * back. For example, 11 to 14 were counted, as the next sample was to be taken
 * at stroke 15. If the change comes between 12 and 13, two are taken back. If
 * it comes after 15, the strokes from that one until now have been skipped.
 * Under -icount another hart may have had the last sample: it has counted them.
 */
static void
settle(struct strokes *s, uint64_t now)
{
	uint64_t number = s->number, early;

	if (s->next == NEVER || s->rate.hz == 0) /* it hasn't begun yet */
		return;
	if (s->next <= now) {
		strokes_pass(s, now);
		skip(s->of, s->number - number);
		return;
	}
	early = strokes_before_next(s, now);
	skip(s->of, -(int64_t)(early < s->ahead ? early : s->ahead));
}

/* The same, of samples that come with ticks: those that are due, but that this
 * hart is too late for. */
static void
settle_ticks(struct hart *h, uint64_t now)
{
	struct rate rate = h->tick_rate;
	uint64_t next = h->next_tick;

	if (next <= now)
		h->sampleclock.skipped += 1 + rate_pass(&rate, &next, now);
}

static bool
comes_with_tick(void)
{
	return !profclock.held && profclock.hz == HZ && !profclock.jitter;
}

/* Begin anew with the settings: the first stroke is within an interval of the
 * change, on all harts. Only a new series starts from the seed. */
static void
strokes_start(struct sampleclock *c, uint64_t seed, uint64_t now)
{
	const struct profclock *p = &profclock;
	struct strokes *s = c->strokes;

	s->ahead = 0;
	s->of = c;
	if (p->held || comes_with_tick()) {
		s->next = NEVER;
		return;
	}
	s->rate = rate_of(p->hz);
	s->jitter = p->jitter;
	if (s->series != p->series) {
		s->series = p->series;
		s->random = seed * RANDOM_SPREAD | 1;
	}
	s->owed = 0;
	if (s->jitter) {
		s->next = now +
			  exponential(&s->random, machine.timebase) / p->hz;
	} else {
		s->next = p->since;
		strokes_pass(s, now);
	}
}

/*
 * taken_before and skipped_before are from when the clock last started. While
 * it is held they stay, so that the rate that was reached can be read then.
 * Under -icount the first hart that follows a change starts the strokes in
 * common, for all.
 */
void
sampleclock_follow(struct hart *h)
{
	const struct profclock *p = &profclock;
	struct sampleclock *c = &h->sampleclock;
	unsigned int generation = __atomic_load_n(&p->generation,
						  __ATOMIC_ACQUIRE);
	uint64_t now = rdtime(); /* after the change */
	bool with_tick = comes_with_tick(), first;

	c->strokes = machine.icount ? &common : &c->own;
	first = !machine.icount || common_generation != generation;
	common_generation = generation;
	if (first)
		settle(c->strokes, now);
	if (c->with_tick && !with_tick)
		settle_ticks(h, now);
	if (!p->held) {
		c->taken_before = c->taken;
		c->skipped_before = c->skipped;
	}
	c->with_tick = with_tick;
	if (first)
		strokes_start(c, machine.icount ? p->seed : p->seed + h->id,
			      now);
	__atomic_store_n(&c->generation, generation, __ATOMIC_RELEASE);
}

/* Each hart gets a software interrupt, and follows in clock_interrupt, at once.
 * This waits for all, so no setting changes while a hart reads it. */
void
sampleclock_apply(void)
{
	uint64_t now = rdtime();
	unsigned int generation;

	/* So strokes coincide with ticks, if the rate is a multiple of HZ. */
	profclock.since = now - now % (machine.timebase / profclock.hz);
	generation = __atomic_add_fetch(&profclock.generation, 1,
					__ATOMIC_RELEASE);
	for (unsigned int i = 0; i < nharts; i++)
		hart_interrupt(&harts[i]);
	for (unsigned int i = 0; i < nharts; i++)
		while (__atomic_load_n(&harts[i].sampleclock.generation,
				       __ATOMIC_ACQUIRE) != generation)
			clock_nap();
}

static uint64_t
skipped_since_boot(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < nharts; i++)
		sum += harts[i].sampleclock.skipped;
	return sum;
}

uint64_t
skips_count(const struct skips *s)
{
	return s->before + (s->on ? skipped_since_boot() - s->start : 0);
}

void
skips_switch(struct skips *s, bool on)
{
	s->before = skips_count(s);
	s->start = skipped_since_boot();
	s->on = on;
}

/* Measure interrupt_cost: interrupt this hart some times for nothing. */
void
sampleclock_init(void)
{
	uint64_t least = NEVER;

	clock_set_timer(NEVER);
	csr_set(sstatus, SSTATUS_SIE);
	for (unsigned int i = 0; i < WARM_UP + ROUNDS; i++) {
		uint64_t start = rdtime(), time;

		csr_set(sip, SIE_SOFT); /* is taken here */
		time = rdtime() - start;
		if (i >= WARM_UP && time < least)
			least = time;
	}
	csr_clear(sstatus, SSTATUS_SIE);
	interrupt_cost = least + 1;
}
