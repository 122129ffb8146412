/*
 * Running several harts fairly under QEMU's -icount.
 *
 * Under -icount QEMU runs one hart at a time. Virtual time is the number of
 * instructions that all of them have executed: the time in which one hart
 * executes passes for the others, too. QEMU goes on with the next hart when the
 * one that runs sleeps (wfi); when it sets a timer that is due before all
 * others; and when a timer is due, up to which QEMU has counted the
 * instructions in advance. It doesn't know which hart has work to do. Three
 * things go wrong if a kernel leaves it at that:
 *
 * - A hart that spins until another one has done something keeps that one from
 *   running, for ever if the two are in step. So a waiting hart sleeps in
 *   between, until a deadline of its own (clock_nap).
 *
 * - A hart that comes late to a deadline may find its next one past as well,
 *   since QEMU has let another hart run until then. So all harts have their
 *   ticks and samples at the same moments (sampleclock.c). There they meet:
 *   none goes on before each has handled the deadline (icount_meet).
 *
 * - After a meeting it matters which hart goes on first.
 *
 *   QEMU 7.2 starts with its first hart after every deadline, and lets it run
 *   until the next; others that have work would stand still. So here they take
 *   turns. The owner of the turn executes; the others sleep where the deadline
 *   interrupted them (icount_wait), and a sample that falls due then is charged
 *   to that place. An owner that has nothing to do, or waits for another hart,
 *   passes its turn on (icount_pass).
 *
 *   QEMU 8 and later divide the time to the next deadline evenly. But after a
 *   deadline, or after a timer has been set, each hart gets its part of what
 *   the harts before it have left, until QEMU has left each hart once. So at a
 *   meeting all harts sleep a few times, and then the first one that has work
 *   goes first. Nobody takes turns.
 *
 *   A probe at boot finds out which of the two it is (icount_probe, `divides').
 *
 * A kernel can't see that it runs under -icount: the boot argument icount tells
 * it, which scripts/run passes with --icount. On any other machine only
 * clock_nap is used, which leaves the host's processor to others. Since only
 * one hart executes at a time, plain variables will do: if another hart gets to
 * run in the middle of a change, one turn goes to the wrong hart.
 */
#include "icount.h"

#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"

#include "clock.h"
#include "hart.h"
#include "level.h"
#include "sampleclock.h"
#include "thread.h"

/* A share is 1/SHARES of a second. A turn lasts until a deadline at which its
 * owner has used up what it had left, so it is one share or several. */
#define NAP_US   10
#define NAP_PART 4  /* each hart's part of a nap, in interrupt_costs */
#define ROUNDS   64 /* sleeps within which all others surely come to meet */
#define FLUSH    2  /* sleeps after which QEMU divides the time evenly */
#define TRY_US   20 /* the probe's first try; each other takes twice as long */
#define PATIENCE 4  /* of its partner, in tries */
#define SHARES   1000
#define MOST     10 /* shares that one hart can owe the others */

/* The turn: who owns it since `begun`, up to the deadline `until`, at which the
 * owner's time is counted and the next owner chosen. */
static struct {
	const struct hart *owner; /* NULL: nobody had work */
	uint64_t begun, until;
	int64_t left[HART_MAX]; /* of each one's share, in timer counts */
	volatile bool taken;    /* its owner has gone on */
	bool meets[HART_MAX];   /* who is at the meeting.. */
	bool raised[HART_MAX];  /* ..interrupted at a raised level */
} turn;

/* This is QEMU 8 or later, which divides the time among the harts. */
static bool divides;

/*
 * When a nap ends that begins now. Where QEMU divides the time, each hart gets
 * its part of the time up to the end of any nap. So a nap is long enough for
 * every hart to do something, and all end at the same moments. Otherwise, if
 * fourteen harts nap, one nap is always about to end, and the hart that all of
 * them wait for executes next to nothing.
 */
static uint64_t
nap_end(uint64_t now)
{
	uint64_t nap = NAP_US * machine.timebase / 1000000;
	uint64_t all = nharts * NAP_PART * interrupt_cost;

	if (!divides)
		return now + nap;
	if (nap < all)
		nap = all;
	return now - now % nap + nap;
}

/*
 * If it is this hart's turn, the turn is lent to another hart, and taken back
 * unless a meeting has given it to someone meanwhile. SIE is 0 throughout. So
 * the timer that ends the wfi isn't taken as an interrupt: neither before the
 * wfi, which would then sleep on, nor after it, since it stops being pending
 * when the hart's real deadline is set again.
 */
void
clock_nap(void)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);
	struct hart *h = this_hart();
	uint64_t begun = turn.begun, until = turn.until;
	bool mine = turn.owner == h;

	icount_pass(h);
	clock_set_timer(nap_end(rdtime()));
	asm volatile("wfi" ::: "memory");
	clock_set_timer(clock_next_due(h));
	if (mine && turn.until == until) {
		turn.owner = h;
		turn.begun = begun;
	}
	csr_set(sstatus, sstatus & SSTATUS_SIE);
}

/* The probe and its partner share these. */
static volatile uint64_t probing = 1; /* a try, in timer counts; 0: all done */
static volatile unsigned int beats;   /* the partner's, as long as it spins */
static volatile bool gone;            /* the partner has stopped spinning */

/*
 * Find out if QEMU divides the time. The partner, another hart, spins. This one
 * sets a timer. If QEMU divides the time, this hart sees that the partner has
 * executed before the timer is due; else QEMU goes on with the partner at once,
 * and comes back when it is due. A timer of a device that is due earlier keeps
 * QEMU from going on at once. So this hart watches for half of the time.
 *
 * The answer means nothing while the partner is still in the firmware. So until
 * it spins this hart sleeps, and tries again with a longer time. Where QEMU
 * doesn't divide the time, the partner may run for so long that it gives up.
 */
void
icount_probe(void)
{
	uint64_t counts = TRY_US * machine.timebase / 1000000, back;

	for (; probing && !gone && counts < machine.timebase; counts *= 2) {
		unsigned int before = beats, seen;
		uint64_t when = rdtime() + counts;

		probing = counts;
		clock_set_timer(when);
		do { /* the time comes last: no earlier than what is seen */
			seen = beats;
			back = rdtime();
		} while (seen == before && back < when - counts / 2);
		if (seen != before) {
			divides = back < when;
			break;
		}
		asm volatile("wfi" ::: "memory");
	}
	probing = 0;
}

void
icount_probe_partner(void)
{
	uint64_t start = rdtime();

	while (rdtime() - start < PATIENCE * probing)
		beats++;
	gone = true;
}

/* An idle hart has work in a handler, and while it may hold a lock. */
static bool
has_work(const struct hart *h)
{
	return !hart_idling(h) || h->depth > 0 || turn.raised[h->id];
}

/* The next hart after h, in a circle, that has work: maybe h. NULL: none. */
static const struct hart *
next_busy(const struct hart *h)
{
	for (unsigned int i = 1; i <= nharts; i++) {
		const struct hart *next = &harts[(h->id + i) % nharts];

		if (has_work(next))
			return next;
	}
	return NULL;
}

/*
 * Whose turn is next? o has been the owner, and executed for `had` counts. It
 * goes on if it has some of its share left; else the next hart that has work
 * gets a share. Deadlines are no regular intervals, so o may have had more than
 * its share; then its next turns are shorter, or it is passed over.
 */
static const struct hart *
next_owner(const struct hart *o, uint64_t had)
{
	int64_t share = machine.timebase / SHARES, *left = turn.left;

	left[o->id] -= had;
	if (left[o->id] < -MOST * share)
		left[o->id] = -MOST * share;
	while (o && (!has_work(o) || left[o->id] <= 0)) {
		if (!has_work(o))
			left[o->id] = 0;
		o = next_busy(o);
		if (o)
			left[o->id] += share;
	}
	return o;
}

/*
 * h is the first hart that has met a deadline: choose the next owner; where
 * QEMU divides the time, the first of all harts that has work. It may sleep,
 * its own deadline still ahead, since it hasn't followed new settings yet, or
 * was late for the one before: then an interrupt wakes it up.
 */
static void
turn_over(const struct hart *h, uint64_t now)
{
	const struct hart *o = turn.owner ? turn.owner : h;

	o = divides ? next_busy(&harts[nharts - 1])
		    : next_owner(o, now - turn.begun);
	if (o && o != turn.owner && clock_next_due(o) > now)
		sbi_send_ipi(o->hartid);
	turn.owner = o;
	turn.begun = now;
	turn.until = clock_next_due(h);
	turn.taken = false;
}

/* The owner goes on, and the meeting is over; but not if the next deadline has
 * come: then the harts meet at once for that one. */
static void
go_on(const struct hart *owner)
{
	turn.begun = rdtime();
	turn.taken = true;
	if (turn.begun < clock_next_due(owner))
		sampleclock_met(turn.begun, divides ? nharts : 0);
}

static bool
all_met(void)
{
	uint64_t now = rdtime();

	for (unsigned int i = 0; i < nharts; i++)
		if (clock_next_due(&harts[i]) <= now)
			return false;
	return true;
}

/* Don't charge the time since `from` to this hart's thread. This may interrupt
 * sched_charge, so it can't take sched_lock; then that time is charged. */
static UNGUARDED void
icount_uncharge(struct hart *h, uint64_t from)
{
	h->since += rdtime() - from;
}

/* Have all left but h, and those at a raised level, who wait for the owner? */
static bool
all_left(const struct hart *h)
{
	for (unsigned int i = 0; i < nharts; i++)
		if (turn.meets[i] && !turn.raised[i] && i != h->id)
			return false;
	return true;
}

/* Sleep until done, but at most so many times, and not beyond the deadline. */
#define SLEEP_UNTIL(done, rounds)                                    \
	for (int n_ = rounds; n_ && rdtime() < due && !(done); n_--) \
	asm volatile("wfi" ::: "memory")

/*
 * Meet the other harts at a deadline. `due`, this hart's next deadline, ends
 * the meeting in any case. Where harts take turns, the time of the meeting
 * isn't charged to this hart's thread.
 *
 * This hart's software interrupt is kept pending, so that each wfi ends when
 * QEMU comes round to this hart. A real one that another hart sends meanwhile
 * is cleared with it, and lost. That does no harm: the timer's handler, which
 * called this, looks for all that another hart may want (serve_others), and the
 * new settings of the sampling clock are looked for at the end, here.
 *
 * The steps, after the turn has been given to its next owner:
 * 1. All harts wait until each has handled the deadline.
 * 2. The owner waits. On QEMU 7.2 it does so until all others at level 0 have
 *    left the meeting: some of them have to flush their TLBs, or run a thread
 *    that was woken up, and would get no further if the owner went on. On later
 *    ones it waits until the time is divided evenly.
 * 3. Where harts take turns, those at level 0 leave before the owner, and wait
 *    for their turn in icount_wait. One at a raised level can't wait there, as
 *    it may hold a lock. It waits here until the owner has gone on, and so does
 *    every hart where QEMU divides the time. QEMU comes round to it when the
 *    owner sleeps, for that lock say; then it goes on and releases the lock.
 *    The wait is limited, as the owner may have gone idle or be in the
 *    firmware.
 */
void
icount_meet(struct hart *h, uint64_t met, bool raised)
{
	uint64_t due = clock_next_due(h), now = rdtime();
	unsigned long sie = csr_read(sie);

	turn.raised[h->id] = raised;
	turn.meets[h->id] = true;
	if (turn.until <= now)
		turn_over(h, now);
	csr_set(sip, SIE_SOFT);
	csr_set(sie, SIE_SOFT);
	SLEEP_UNTIL(all_met(), ROUNDS);
	if (turn.owner == h && divides)
		SLEEP_UNTIL(false, FLUSH);
	else if (turn.owner == h)
		SLEEP_UNTIL(all_left(h), ROUNDS);
	if (turn.owner == h && (divides || raised))
		go_on(h);
	else if (!turn.owner)
		sampleclock_met(rdtime(), nharts);
	else if (divides || raised)
		SLEEP_UNTIL(turn.taken, ROUNDS);
	turn.raised[h->id] = turn.meets[h->id] = false;
	csr_clear(sip, SIE_SOFT);
	csr_write(sie, sie);
	if (h->sampleclock.generation != profclock.generation)
		clock_set_timer(0); /* a lost interrupt may have said so */
	if (!divides)
		icount_uncharge(h, met);
}

/* Is it another hart's turn, and has this one nothing to do before it waits? */
static bool
must_wait(const struct hart *h)
{
	return turn.owner && turn.owner != h && has_work(turn.owner) &&
	       !h->owed && !(current->work & (WORK_RESCHED | WORK_SIGNAL));
}

bool
icount_owner(const struct hart *h)
{
	return divides || turn.owner == h;
}

/*
 * The idle thread needn't wait, as it will sleep anyway. The others sleep with
 * all interrupts unmasked in sie, so that each of them ends the wfi, but with
 * SIE=0: the caller handles it as one that has interrupted the same code as the
 * first. For the timer SIE must be 0 until the sample is taken; for others it
 * is set again, at level 5.
 */
unsigned long
icount_wait(struct hart *h)
{
	unsigned long pending = 0;
	uint64_t begun;

	if (divides)
		return 0;
	if (turn.owner == h)
		go_on(h);
	if (current == h->idle || !must_wait(h))
		return 0;
	begun = rdtime();
	csr_clear(sstatus, SSTATUS_SIE);
	csr_set(sie, LEVEL5_MASK);
	while (!(pending = csr_read(sip) & LEVEL_ALL) && must_wait(h))
		asm volatile("wfi" ::: "memory");
	icount_uncharge(h, begun);
	if (!(pending & SIE_TIMER)) {
		csr_clear(sie, LEVEL5_MASK);
		csr_set(sstatus, SSTATUS_SIE);
	}
	return pending & SIE_TIMER  ? CAUSE_TIMER
	       : pending & SIE_SOFT ? CAUSE_SOFT
	       : pending            ? CAUSE_EXTERNAL
				    : 0;
}

void
icount_pass(const struct hart *h)
{
	if (!machine.icount || divides || turn.owner != h)
		return;
	turn.owner = next_busy(h);
	turn.begun = rdtime();
	if (turn.owner && turn.owner != h)
		sbi_send_ipi(turn.owner->hartid);
}
