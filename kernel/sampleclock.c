/*
 * The sampling clock: see sampleclock.h.
 *
 * By default samples fall due with the scheduler's ticks. /dev/profclock gives
 * them a rate of their own, and random intervals as the 4.4BSD statclock had: a
 * program in step with a periodic clock is never, or always, seen.
 *
 * No rate can take a hart away from its other work. Each sample is timed; the
 * next one is taken at the first deadline that leaves at least as much time
 * for the rest as the samples take. Deadlines before that are skipped, and
 * counted. So the sampler slows down where samples are dear (call stacks), or
 * time is short (-icount, where all harts share it), and says so.
 */
#include "sampleclock.h"

#include "clock.h"
#include "hart.h"
#include "machine.h"

#define WARM_UP 2  /* interrupts that the host translates first */
#define ROUNDS  16 /* interrupts of which the shortest counts */

/*
 * What a sample costs besides the time between `now` and `end`, in interrupts
 * that do nothing: the interrupt itself, and profil's payment on the way to user
 * mode, which takes about as long.
 */
#define OUTSIDE 2

struct profclock profclock = {.hz = HZ, .seed = 1, .series = 1};

static uint64_t interrupt_cost; /* of one that does nothing, in counts */

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
jitter(struct sampleclock *c)
{
	uint64_t r;

	do /* the multiplication's high half: uniform in 0..variation-1 */
		r = (unsigned __int128)random_next(&c->random) * c->variation >>
		    64;
	while (r == 0);
	return (int64_t)r - (int64_t)(c->variation / 2);
}

/*
 * From a deadline to the first one after `until`. Random ones are made one by
 * one, also those that are passed over: so all who begin at one time with one
 * seed have the same.
 */
static uint64_t
pass(struct sampleclock *c, uint64_t until)
{
	uint64_t n = 0;

	if (c->variation < 2)
		return rate_pass(&c->rate, &c->next, until);
	for (;; n++) {
		rate_pass(&c->rate, &c->next, 0);
		c->next += jitter(c);
		if (c->next > until)
			return n;
	}
}

/*
 * The cost of samples is followed down at once, and up slowly: one during which
 * the host, or under -icount another hart, had its turn only looks dear.
 */
static uint64_t
gap_after(struct sampleclock *c, uint64_t cost)
{
	uint64_t sharing = machine.icount ? nharts : 1;

	if (c->cost == 0 || cost * 8 < c->cost)
		c->cost = cost * 8;
	else
		c->cost += cost - c->cost / 8;
	cost = c->cost / 8;
	return 2 * sharing * (cost + OUTSIDE * interrupt_cost) - cost;
}

void
sampleclock_advance(struct sampleclock *c, uint64_t now, uint64_t end)
{
	c->ahead = pass(c, end + gap_after(c, end - now));
	c->skipped += c->ahead;
}

/*
 * Count what has fallen due until now, but no more. Samples are counted as soon
 * as it's known that they will be skipped: those of a time that doesn't come any
 * more are taken back.
 */
static void
settle(struct sampleclock *c, uint64_t now)
{
	uint64_t early;

	if (c->next == NEVER || c->rate.hz == 0) /* it hasn't begun yet */
		return;
	if (c->next <= now) {
		c->skipped += 1 + pass(c, now);
		return;
	}
	early = (c->next - now - 1) * c->rate.hz / machine.timebase;
	c->skipped -= early < c->ahead ? early : c->ahead;
}

/* The first deadline is an interval after the change, on all harts. */
void
sampleclock_follow(struct hart *h, uint64_t now)
{
	const struct profclock *p = &profclock;
	struct sampleclock *c = &h->sampleclock;
	unsigned int generation = __atomic_load_n(&p->generation,
						  __ATOMIC_ACQUIRE);

	settle(c, now);
	if (!p->held) {
		c->taken_before = c->taken;
		c->skipped_before = c->skipped;
	}
	if (c->series != p->series) {
		c->series = p->series;
		c->random = (p->seed + (machine.icount ? 0 : h->id)) *
				0x9e3779b97f4a7c15 |
			    1;
	}
	c->with_tick = !p->held && p->hz == HZ && !p->jitter;
	c->rate = rate_of(p->hz);
	c->variation = p->jitter ? variation_of(p->hz) : 0;
	c->ahead = 0;
	c->next = NEVER;
	if (!p->held && !c->with_tick) {
		c->next = p->since;
		pass(c, now);
	}
	__atomic_store_n(&c->generation, generation, __ATOMIC_RELEASE);
}

/* Each hart is interrupted, this one as well, and has its timer strike. */
void
sampleclock_apply(void)
{
	unsigned int generation;

	profclock.since = rdtime();
	generation = __atomic_add_fetch(&profclock.generation, 1,
					__ATOMIC_RELEASE);
	for (unsigned int i = 0; i < nharts; i++)
		sbi_send_ipi(harts[i].hartid);
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
