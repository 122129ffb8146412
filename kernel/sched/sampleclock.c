/*
 * The sampling clock: when samples fall due. clock.c takes them.
 *
 * A stroke is a moment at which a sample falls due: by default each of the
 * scheduler's ticks. /dev/profclock can give samples a rate of their own, and
 * random intervals, as the 4.4BSD statclock had: a program that runs in step
 * with a periodic clock would be seen always, or never.
 *
 * No rate can take a hart away from its other work. The time that a sample
 * costs is measured, and the next one is taken at the first stroke that leaves
 * other work at least as much time as the samples take. Strokes before that are
 * skipped, and counted. For example, at 20000 Hz a stroke is due every 50 us.
 * If a sample costs 40 us, the next one must not be due before 80 us from its
 * start, so every other stroke is skipped.
 *
 * Under -icount all harts have their strokes in common, and meet at each of
 * them (icount.c). Time passes for all harts while one of them takes its
 * sample. So the cost is how long the whole meeting lasts, and all harts skip
 * the same strokes (advance_in_common).
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

#define WARM_UP 2  /* interrupts that the host translates first */
#define ROUNDS  16 /* interrupts of which the shortest counts */

/* What a sample costs besides the time measured, in interrupt_costs: the
 * interrupt, what profilers have deferred, and profil's payment (thread_work),
 * which is measured only if it takes longer than an interrupt. */
#define OUTSIDE 3

/* What a hart still costs that hasn't left a meeting yet, in the same unit. */
#define LEAVING 2
/* Other work is left nharts/UNEVEN of a meeting's cost in addition: the more
 * harts there are, the less even are their shares of what is left. */
#define UNEVEN 16

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

/* By how much intervals with jitter vary, in timer counts: 8192 us, halved
 * until that is at most half the period plus 100 us. */
static uint64_t
variation_of(unsigned int hz)
{
	uint64_t us = 8192;

	while (us > 1000000 / hz / 2 + 100)
		us /= 2;
	return us * machine.timebase / 1000000;
}

/* What jitter adds to a period: a random number, with a mean of 0. At 100 Hz
 * intervals are between 7953 and 12047 us long. */
static int64_t
jitter(struct strokes *s)
{
	uint64_t r;

	do /* the multiplication's high half: uniform in 0..variation-1 */
		r = (unsigned __int128)random_next(&s->random) * s->variation >>
		    64;
	while (r == 0);
	return (int64_t)r - (int64_t)(s->variation / 2);
}

/* Go on to the first stroke after `until'. The random part is added once for
 * all that are passed over, so any number of them takes the same time. */
static void
strokes_pass(struct strokes *s, uint64_t until)
{
	if (s->variation >= 2)
		s->next += jitter(s);
	s->number += 1 + rate_pass(&s->rate, &s->next, until);
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

/* What all harts have in common under -icount. QEMU may go on with another hart
 * in the middle of a change; so there is a lock, held. */
static struct {
	int held;                /* atomic */
	struct strokes strokes;  /* of the hart that is furthest ahead */
	unsigned int generation; /* of the settings that they follow */
	uint64_t cost;   /* of a meeting, in eighths of a count: the mean */
	uint64_t paid;   /* on all harts, since the last meeting; atomic */
	uint64_t due;    /* the stroke at which harts meet now; 0: it's over */
	uint64_t number; /* the number of that stroke */
} common;

/* Must be called with SIE=0. It is no spinlock, as to unlock one would do what
 * is owed, in the middle of the clock's interrupt. */
static void
common_lock(void)
{
	while (__atomic_exchange_n(&common.held, 1, __ATOMIC_ACQUIRE))
		clock_nap();
}

static void
common_unlock(void)
{
	__atomic_store_n(&common.held, 0, __ATOMIC_RELEASE);
}

/* What was paid since the last sample. It only makes the interval longer that
 * begins now, as the next sample may be another process's. */
static uint64_t
paid(uint64_t *sum)
{
	return __atomic_exchange_n(sum, 0, __ATOMIC_RELAXED);
}

void
sampleclock_paid(uint64_t time)
{
	uint64_t *sum = machine.icount ? &common.paid
				       : &this_hart()->sampleclock.paid;

	__atomic_add_fetch(sum, time, __ATOMIC_RELAXED);
}

/*
 * A meeting is over: take its length into the mean cost. If it took more than
 * twice the mean, another hart's ordinary work ran in it, as under -icount time
 * passes only as harts execute. Then the mean just goes up by an eighth.
 *
 * The next stroke may come before this hart gets the lock. Then common.due,
 * that of the next meeting, is later than `now'.
 */
void
sampleclock_met(uint64_t now, unsigned int leaving)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);
	uint64_t took;

	common_lock();
	if (common.due != 0 && common.due <= now) {
		took = now - common.due + leaving * LEAVING * interrupt_cost;
		common.due = 0;
		if (common.cost == 0)
			common.cost = 8 * took;
		else if (took < common.cost / 4)
			common.cost += took - common.cost / 8;
		else
			common.cost += common.cost / 8;
	}
	common_unlock();
	csr_set(sstatus, sstatus & SSTATUS_SIE);
}

/* The next stroke has come before this meeting is over. Lest none ever is, the
 * cost is raised, up to a tick's length, which no meeting takes. */
static void
met_too_late(void)
{
	uint64_t most = 8 * machine.timebase / HZ;

	common.cost += common.cost / 8 + nharts * interrupt_cost;
	if (common.cost > most)
		common.cost = most;
}

/*
 * The next stroke under -icount, for a hart that has taken its sample by `end'.
 * The first hart that comes here after a stroke finds the next one for all, and
 * the others copy it. A hart that comes so late that this one has passed as
 * well finds another one for all.
 */
static void
advance_in_common(struct strokes *s, uint64_t end)
{
	uint64_t cost, more;

	common_lock();
	cost = common.cost / 8 + OUTSIDE * interrupt_cost;
	more = cost * nharts / UNEVEN;
	if (common.strokes.number == s->number) {
		cost += paid(&common.paid);
		if (common.due != 0)
			met_too_late();
		common.due = s->next;
		common.number = s->number;
		strokes_pass(&common.strokes, s->next + 2 * cost + more);
	}
	if (common.strokes.next <= end || s->number < common.number)
		met_too_late();
	if (common.strokes.next <= end)
		strokes_pass(&common.strokes, end);
	*s = common.strokes;
	common_unlock();
}

/* Twice the cost from the start of a sample: half of the time is for the
 * sample, and at least half is left to other work. */
void
sampleclock_advance(struct sampleclock *c, uint64_t now, uint64_t end)
{
	uint64_t number = c->strokes.number, cost;

	if (machine.icount) {
		advance_in_common(&c->strokes, end);
	} else {
		cost = cost_update(&c->cost, end - now) +
		       OUTSIDE * interrupt_cost + paid(&c->paid);
		strokes_pass(&c->strokes, now + 2 * cost);
	}
	c->ahead = c->strokes.number - number - 1;
	c->skipped += c->ahead;
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
 */
static void
settle(struct sampleclock *c, uint64_t now)
{
	struct strokes *s = &c->strokes;
	uint64_t number = s->number, early;

	if (s->next == NEVER || s->rate.hz == 0) /* it hasn't begun yet */
		return;
	if (s->next <= now) {
		strokes_pass(s, now);
		c->skipped += s->number - number;
		return;
	}
	early = strokes_before_next(s, now);
	c->skipped -= early < c->ahead ? early : c->ahead;
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

/* Begin anew with the settings: the first stroke is within an interval of the
 * change, on all harts. Only a new series starts from the seed. */
static void
strokes_start(struct strokes *s, uint64_t seed, uint64_t now)
{
	const struct profclock *p = &profclock;

	s->rate = rate_of(p->hz);
	s->variation = p->jitter ? variation_of(p->hz) : 0;
	if (s->series != p->series) {
		s->series = p->series;
		s->random = seed * RANDOM_SPREAD | 1;
	}
	s->next = p->since;
	strokes_pass(s, now);
}

/*
 * taken_before and skipped_before are from when the clock last started. While
 * it is held they stay, so that the rate that was reached can be read then.
 * Under -icount the first hart that follows a change starts the strokes in
 * common; the others copy them. If the next one is further ahead by then, a
 * hart counts the strokes from now to that one as skipped.
 */
void
sampleclock_follow(struct hart *h)
{
	const struct profclock *p = &profclock;
	struct sampleclock *c = &h->sampleclock;
	unsigned int generation = __atomic_load_n(&p->generation,
						  __ATOMIC_ACQUIRE);
	bool with_tick = !p->held && p->hz == HZ && !p->jitter;
	uint64_t now = rdtime(); /* after the change */

	settle(c, now);
	if (c->with_tick && !with_tick)
		settle_ticks(h, now);
	if (!p->held) {
		c->taken_before = c->taken;
		c->skipped_before = c->skipped;
	}
	c->with_tick = with_tick;
	c->ahead = 0;
	if (p->held || c->with_tick) {
		c->strokes.next = NEVER;
	} else if (!machine.icount) {
		strokes_start(&c->strokes, p->seed + h->id, now);
	} else {
		common_lock();
		if (common.generation != generation) {
			strokes_start(&common.strokes, p->seed, now);
			common.due = 0;
			common.generation = generation;
		}
		c->strokes = common.strokes;
		common_unlock();
		if (c->strokes.next > now)
			c->ahead = strokes_before_next(&c->strokes, now);
		c->skipped += c->ahead;
	}
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
