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
 * instructions are few, and says so.
 *
 * Under -icount all harts have their deadlines in common, and meet at each
 * (icount.c). There time goes on for all while one takes its sample: so what
 * counts is how long the whole meeting lasts, and all skip the same deadlines.
 */
#include "sampleclock.h"

#include "clock.h"
#include "hart.h"
#include "machine.h"

#define WARM_UP 2  /* interrupts that the host translates first */
#define ROUNDS  16 /* interrupts of which the shortest counts */

/*
 * What a sample costs besides the time between `now` and `end`, in interrupts
 * that do nothing: the interrupt itself, what profilers have deferred, and
 * profil's payment on the way to user mode.
 */
#define OUTSIDE 3

/* The same for a hart that is yet to leave a meeting. */
#define LEAVING 2
/* The more harts there are, the less even are their shares of what is left. */
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
jitter(struct strokes *s)
{
	uint64_t r;

	do /* the multiplication's high half: uniform in 0..variation-1 */
		r = (unsigned __int128)random_next(&s->random) * s->variation >>
		    64;
	while (r == 0);
	return (int64_t)r - (int64_t)(s->variation / 2);
}

/* From a deadline to the first one after `until`. Those passed over take no
 * time: the random part is one for all of them. */
static void
strokes_pass(struct strokes *s, uint64_t until)
{
	if (s->variation >= 2)
		s->next += jitter(s);
	s->number += 1 + rate_pass(&s->rate, &s->next, until);
}

/*
 * Follow a cost, in eighths of a timer count: down at once, and up slowly. For
 * one during which the host had its turn only looks dear. Returns it in counts.
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

/* Under icount. Only one hart executes at a time, but a tick that falls due
 * in the midst of a change gives another one its turn: so there is a lock. */
static struct {
	int held;                /* the lock; atomic */
	struct strokes strokes;  /* of the hart that is furthest */
	unsigned int generation; /* of the settings they follow */
	uint64_t cost;   /* of a meeting, in eighths of a count: the mean */
	uint64_t due;    /* the deadline of this meeting; 0: it's over */
	uint64_t number; /* and which stroke that is */
} common;

/* SIE=0, as the clock's interrupt takes it. A spinlock's own unlock would do
 * what is owed, and this is no place for it. */
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

/*
 * Nothing but what harts execute takes time here. One that was much longer has
 * been one in which another hart's work had its turn. After `now`, and before
 * this hart gets the lock, the next deadline may have come: then it's the next
 * meeting that isn't over yet.
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

/* A meeting isn't over, and the next deadline has come: it takes longer than
 * was thought, and perhaps none would ever be over. None takes a tick. */
static void
met_too_late(void)
{
	uint64_t most = 8 * machine.timebase / HZ;

	common.cost += common.cost / 8 + nharts * interrupt_cost;
	if (common.cost > most)
		common.cost = most;
}

/* The first hart that has met a deadline finds the next one for all. One that
 * comes so late that this has passed as well finds another. */
static void
advance_in_common(struct strokes *s, uint64_t end)
{
	uint64_t cost, more;

	common_lock();
	cost = common.cost / 8 + OUTSIDE * interrupt_cost;
	more = cost * nharts / UNEVEN;
	if (common.strokes.number == s->number) {
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

void
sampleclock_advance(struct sampleclock *c, uint64_t now, uint64_t end)
{
	uint64_t number = c->strokes.number, cost;

	if (machine.icount) {
		advance_in_common(&c->strokes, end);
	} else {
		cost = cost_update(&c->cost, end - now);
		strokes_pass(&c->strokes,
			     now + 2 * (cost + OUTSIDE * interrupt_cost));
	}
	c->ahead = c->strokes.number - number - 1;
	c->skipped += c->ahead;
}

/* How many there are from now to the next one, which isn't counted. */
static uint64_t
strokes_before_next(const struct strokes *s, uint64_t now)
{
	return (s->next - now - 1) * s->rate.hz / machine.timebase;
}

/*
 * Count what has fallen due until now, but no more. Samples are counted as soon
 * as it's known that they will be skipped: those of a time that doesn't come
 * any more are taken back.
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

/* The first deadline is within an interval of the change, on all harts. The
 * random intervals of each hart are its own, or all have them in common. */
static void
strokes_start(struct strokes *s, uint64_t seed, uint64_t now)
{
	const struct profclock *p = &profclock;

	s->rate = rate_of(p->hz);
	s->variation = p->jitter ? variation_of(p->hz) : 0;
	if (s->series != p->series) {
		s->series = p->series;
		s->random = seed * 0x9e3779b97f4a7c15 | 1;
	}
	s->next = p->since;
	strokes_pass(s, now);
}

void
sampleclock_follow(struct hart *h)
{
	const struct profclock *p = &profclock;
	struct sampleclock *c = &h->sampleclock;
	unsigned int generation = __atomic_load_n(&p->generation,
						  __ATOMIC_ACQUIRE);
	uint64_t now = rdtime(); /* after the change */

	settle(c, now);
	if (!p->held) {
		c->taken_before = c->taken;
		c->skipped_before = c->skipped;
	}
	c->with_tick = !p->held && p->hz == HZ && !p->jitter;
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
		if (c->strokes.next > now) /* the others may be further */
			c->ahead = strokes_before_next(&c->strokes, now);
		c->skipped += c->ahead;
	}
	__atomic_store_n(&c->generation, generation, __ATOMIC_RELEASE);
}

/* Each hart is interrupted, this one as well, and has its timer strike. */
void
sampleclock_apply(void)
{
	uint64_t now = rdtime();
	unsigned int generation;

	/* In step with the ticks, if the rate is a multiple of theirs. */
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
