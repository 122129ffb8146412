/*
 * Several harts under QEMU's -icount: one executes at a time, and the kernel
 * chooses which.
 *
 * Under -icount QEMU executes one hart at a time, and virtual time is the
 * number of instructions that all of them have executed. Which hart goes on,
 * and for how long, differs from version to version, and isn't fair. It would
 * also make samples wrong: a hart that stands still until QEMU comes back to it
 * would be sampled as often as the one that executes.
 *
 * So one hart has the machine. The others sleep in doze(), with their timers
 * off, deaf to all but the interrupt that gives it to them. That leaves QEMU no
 * choice, and the kernel knows who executes: a sample is one of the hart that
 * has executed up to the deadline, and only that one has deadlines.
 *
 * Harts take turns. A turn ends after a time (next_turn), or when its hart has
 * nothing to do, or waits for another one (clock_nap). In the middle of a turn
 * other harts have the machine for as long as it takes to handle a tick, or to
 * do what somebody waits for: a flush of the TLB, say (asked).
 *
 * The machine isn't given away while a spinlock is held, unless its holder
 * waits for another lock. If a turn ends at a raised level, that is noted in
 * hart->owed. So nearly all happens in one place, at the end of an interrupt of
 * level 0 (icount_wait). Who wants to come there interrupts itself. But a hart
 * that doesn't, for the length of another turn, gives way where it is
 * (icount_insist): it may never release its lock.
 *
 * A kernel can't see that it runs under -icount: the boot argument icount tells
 * it, which scripts/run passes with --icount. A hart that has just been started
 * executes beside the one that has the machine. It joins the others at the end
 * of its first interrupt.
 *
 * Who gets the machine sees all that was stored by those who had it before, as
 * it passes from hart to hart by a release and an acquire (docs/locks.md).
 */
#include "icount.h"

#include "base/compiler.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"

#include "clock.h"
#include "entry.h"
#include "hart.h"
#include "level.h"
#include "sampleclock.h"
#include "thread.h"

/* A turn is the longer of the two. To give the machine away takes about as long
 * as four interrupts. */
#define TURN_US    1000
#define TURN_COSTS 32 /* interrupt_costs */

#define ONE (1L << 32) /* a sample, in sampleclock.idle_due and idle_skips */

static struct hart *owner;   /* who has the machine; atomic */
static unsigned long joined; /* bits: owner, and who sleeps in doze; atomic */
static unsigned long asked;  /* bits: of whom something is wanted; atomic */

/* Who has the machine, and nobody else, uses what follows. */

/* Whose turn it is, and when that ends; `stopped': since when others have the
 * machine in the middle of it. 0: they don't. */
static struct {
	struct hart *hart;
	uint64_t until, stopped;
} turn;

/* Where a hart's idle_wait was interrupted; NULL: it does something else. */
static const struct ktrapframe *idles[HART_MAX];

/* At the last sample: bits of the harts that idled, and how much of a sample
 * each of them had. */
static unsigned long idled;
static int64_t idle_share;

static bool
has_machine(const struct hart *h)
{
	return __atomic_load_n(&owner, __ATOMIC_ACQUIRE) == h;
}

static bool
is_in(const unsigned long *set, const struct hart *h)
{
	return __atomic_load_n(set, __ATOMIC_ACQUIRE) >> h->id & 1;
}

static void
put_in(unsigned long *set, const struct hart *h)
{
	__atomic_fetch_or(set, 1UL << h->id, __ATOMIC_RELEASE);
}

static void
take_out(unsigned long *set, const struct hart *h)
{
	__atomic_fetch_and(set, ~(1UL << h->id), __ATOMIC_RELAXED);
}

/* --- Whose turn it is --- */

static bool
is_idle(const struct hart *h)
{
	return idles[h->id] != NULL && hart_idling(h);
}

static bool
is_behind(const struct hart *h)
{
	return h->next_tick <= rdtime();
}

static bool
is_asked(const struct hart *h)
{
	return is_in(&asked, h);
}

static bool
is_busy(const struct hart *h)
{
	return !is_idle(h);
}

/* The next hart after h, in a circle, that is so; NULL: no other is. */
static struct hart *
next_after(const struct hart *h, bool (*is_so)(const struct hart *))
{
	for (unsigned int i = 1; i < nharts; i++) {
		struct hart *next = &harts[(h->id + i) % nharts];

		if (is_in(&joined, next) && is_so(next))
			return next;
	}
	return NULL;
}

static uint64_t
turn_length(void)
{
	uint64_t length = TURN_US * machine.timebase / 1000000;
	uint64_t least = TURN_COSTS * interrupt_cost;

	return length > least ? length : least;
}

static void
turn_begin(struct hart *h)
{
	turn.hart = h;
	turn.until = rdtime() + turn_length();
	turn.stopped = 0;
}

/* The deadline of h, which executes: none, if it isn't h's turn, or no other
 * hart has work. */
static uint64_t
turn_end(const struct hart *h)
{
	return turn.hart == h && next_after(h, is_busy) != NULL ? turn.until
								: NEVER;
}

static void
turn_arm(struct hart *h)
{
	uint64_t end = turn_end(h);

	if (h->next_turn != end) {
		h->next_turn = end;
		clock_set_timer(clock_next_due(h));
	}
}

/* The next hart that has work, if there is one, has its turn now. */
static struct hart *
turn_pass(const struct hart *from)
{
	struct hart *next = next_after(from, is_busy);

	if (next != NULL)
		turn_begin(next);
	return next;
}

/* If h is about to run a thread that has been woken up, that one gets half a
 * turn at least: else it might wait for the next one, after those of all
 * others. */
static void
turn_stretch(struct hart *h)
{
	if (turn.hart == h && is_busy(h) && current->work & WORK_RESCHED &&
	    turn.until < rdtime() + turn_length() / 2)
		turn_begin(h);
}

/* Who is to execute now, where h can let others do so. */
static struct hart *
who_goes_on(struct hart *h)
{
	struct hart *next = next_after(h, is_behind);

	if (next != NULL)
		return next;
	if (is_busy(turn.hart) && (turn.stopped != 0 || rdtime() < turn.until))
		return turn.hart;
	next = turn_pass(turn.hart);
	return next != NULL ? next : is_busy(turn.hart) ? turn.hart : h;
}

/* --- Giving the machine away --- */

/* next has the machine from now on; NULL: nobody. */
static void
give(struct hart *next)
{
	__atomic_store_n(&owner, next, __ATOMIC_RELEASE);
	if (next != NULL)
		sbi_send_ipi(next->hartid);
}

/*
 * Give the machine to next (NULL: somebody else has it), and sleep until h gets
 * it. SIE is 0. Each software interrupt is cleared, so that the wfi sleeps, and
 * before owner is looked at, so that the one that tells of it isn't lost. At
 * the end one is pending, as another hart may have wanted something.
 *
 * The time isn't charged to h's thread. This may have interrupted sched_charge,
 * so it can't take sched_lock for `since'; then the time is charged.
 */
static UNGUARDED void
doze(struct hart *h, struct hart *next)
{
	unsigned long sie = csr_read(sie);
	uint64_t begun = rdtime();

	if (turn.hart == h && next != NULL)
		turn.stopped = begun;
	clock_set_timer(NEVER);
	csr_write(sie, SIE_SOFT);
	if (next != NULL)
		give(next);
	while (!has_machine(h)) {
		asm volatile("wfi" ::: "memory");
		csr_clear(sip, SIE_SOFT);
		fence(o, r);
	}
	csr_set(sip, SIE_SOFT);
	csr_write(sie, sie);
	take_out(&asked, h);
	if (turn.hart == h && turn.stopped != 0) {
		turn.until += rdtime() - turn.stopped;
		turn.stopped = 0;
	}
	h->next_turn = turn_end(h);
	clock_set_timer(clock_next_due(h));
	h->since += rdtime() - begun;
}

unsigned long
icount_wait(struct hart *h, const struct ktrapframe *kf)
{
	struct hart *next = NULL;
	unsigned long pending;
	bool idle = kf && kf->sepc == (unsigned long)idle_look;

	if (has_machine(h)) {
		idles[h->id] = idle ? kf : NULL;
		turn_stretch(h);
		next = who_goes_on(h);
		if (next == h) {
			idles[h->id] = NULL;
			turn_arm(h);
			return 0;
		}
	}
	csr_clear(sstatus, SSTATUS_SIE);
	put_in(&joined, h);
	doze(h, next);
	idles[h->id] = NULL;
	csr_set(sie, LEVEL5_MASK);
	pending = csr_read(sip) & LEVEL_ALL;
	if (!(pending & SIE_TIMER)) {
		csr_clear(sie, LEVEL5_MASK);
		csr_set(sstatus, SSTATUS_SIE);
	}
	return pending & SIE_TIMER  ? CAUSE_TIMER
	       : pending & SIE_SOFT ? CAUSE_SOFT
	       : pending            ? CAUSE_EXTERNAL
				    : 0;
}

/* Has h kept the machine for so long after its turn, or after others' ticks? */
static bool
is_late(const struct hart *h)
{
	uint64_t late = rdtime() - turn_length();
	const struct hart *next = next_after(h, is_behind);

	return (turn.hart == h && turn.until <= late) ||
	       (next != NULL && next->next_tick <= late);
}

void
icount_insist(struct hart *h)
{
	struct hart *next;

	if (!has_machine(h))
		return;
	if (h->owed & OWED_TURN) { /* this comes once more */
		h->next_turn = rdtime() + turn_length();
		clock_set_timer(clock_next_due(h));
	}
	if (!is_late(h))
		return;
	next = who_goes_on(h);
	if (next != h)
		doze(h, next);
}

void
icount_start(struct hart *h)
{
	owner = h;
	turn_begin(h);
	h->next_turn = NEVER;
	put_in(&joined, h);
}

bool
icount_passes(struct hart *h)
{
	return !has_machine(h) || next_after(h, is_behind) != NULL ||
	       next_after(h, is_busy) != NULL;
}

/* Whoever is asked comes first, as somebody may wait for that. */
static struct hart *
who_helps(const struct hart *h)
{
	struct hart *next = next_after(h, is_asked);

	if (next == NULL)
		next = next_after(h, is_behind);
	return next != NULL ? next : turn_pass(h);
}

bool
icount_nap(struct hart *h)
{
	struct hart *next;

	if (!has_machine(h))
		return false;
	next = who_helps(h);
	if (next != NULL)
		doze(h, next);
	return next != NULL;
}

void
icount_leave(struct hart *h)
{
	take_out(&joined, h);
	if (has_machine(h))
		give(who_helps(h));
}

/* --- From outside --- */

/* The one who has the machine may have been alone with work until now; then its
 * turn has had no end. */
bool
icount_ask(struct hart *h)
{
	struct hart *me = this_hart();

	put_in(&asked, h);
	if (!is_in(&joined, h) || has_machine(h))
		return false;
	if (turn.hart == me && me->next_turn == NEVER) {
		turn_begin(me);
		turn_arm(me);
	}
	return true;
}

/* --- Samples --- */

/* Else a turn that is over while a sample is taken would end right after that,
 * and hand-overs would come after samples more often than by chance. */
static void
stretch(struct hart *h, uint64_t time)
{
	if (turn.hart == h)
		turn.until += time;
	if (h->next_turn != NEVER)
		h->next_turn += time;
}

/* Side by side, idle harts would idle for as long as others are busy. Here the
 * busy ones take turns: while n of them do, an idle hart's time is 1/n. */
static void
sample_idle(const struct hart *h, bool idle)
{
	unsigned int busy = idle ? 0 : 1;

	idled = 0;
	for (const struct hart *x = harts; x < harts + nharts; x++) {
		if (x == h || !is_in(&joined, x))
			continue;
		if (is_idle(x))
			idled |= 1UL << x->id;
		else
			busy++;
	}
	idle_share = busy > 1 ? ONE / busy : ONE;
	for (struct hart *x = harts; x < harts + nharts; x++) {
		struct sampleclock *c = &x->sampleclock;

		if (!(idled >> x->id & 1))
			continue;
		c->idle_due += idle_share;
		if (c->idle_due < ONE)
			continue;
		c->idle_due -= ONE;
		c->taken++;
		clock_sampler.take(&(struct sample){
		    .pc = (unsigned long)idle_look,
		    .mode = SAMPLE_IDLE,
		    .hart = x->id,
		    .thread = x->idle,
		    .kf = idles[x->id],
		});
	}
}

void
icount_sampled(struct hart *h, bool idle, uint64_t begin)
{
	if (!h->sampleclock.with_tick)
		sample_idle(h, idle);
	stretch(h, rdtime() - begin);
}

void
icount_skip_idle(int64_t n)
{
	for (struct hart *x = harts; x < harts + nharts; x++) {
		struct sampleclock *c = &x->sampleclock;

		if (!(idled >> x->id & 1))
			continue;
		c->idle_skips += n * idle_share;
		c->skipped += c->idle_skips / ONE;
		c->idle_skips %= ONE;
	}
}
