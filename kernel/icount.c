/*
 * Harts take turns, as far as the guest can see to it.
 *
 * Under -icount QEMU runs one hart at a time, all on one thread of the host's.
 * Virtual time is the number of instructions that all of them executed, so
 * what one hart executes is taken from the others' time. QEMU goes on with the
 * next hart when one sleeps (wfi), when one sets a timer that is due before all
 * others, and when a timer is due: it has counted the instructions till then in
 * advance. It knows nothing of whose turn it is. Three things go wrong if a
 * kernel leaves it at that:
 *
 * - A hart that waits for another one by spinning keeps it from running: the
 *   wait ends only with QEMU's turn, and perhaps not at all, if the two of
 *   them are in step. So it sleeps in between, until a deadline of its own
 *   (clock_nap).
 *
 * - A hart that comes late to a deadline may find its next one past: QEMU let
 *   another one run until then. So all harts have their deadlines at the same
 *   moments, ticks and samples, also random ones and those of a clock that is
 *   slowed down (sampleclock.c); and none goes on before all have met.
 *
 * - Then it matters who goes on first. QEMU 7.2 begins with its first hart
 *   after every deadline and lets it run until the next: others that have work
 *   stand still. Here they take turns. Each hart that has work has a share of
 *   the time, and one owner executes, while the others sleep where the deadline
 *   interrupted them (icount_wait); what falls due then is a sample of there.
 *   Who has nothing to do, or waits for another hart, passes its turn on.
 *   QEMU 8 and later give each hart the same part of the time to the deadline,
 *   one after the other; but after a deadline, or a timer that is set, each
 *   gets that part of what those before it have left. That is over when each
 *   has been left once: so all sleep a few times, and the first one goes first.
 *   Which of the two this is, is tried out at boot (icount_probe).
 *
 * To meet, a hart sleeps with an interrupt pending: QEMU ends the wfi when it
 * comes round again.
 *
 * Nothing of the machine tells that it runs so: the boot argument icount does,
 * which scripts/run gives with --icount. On any other machine harts don't meet,
 * and only clock_nap is used: there it gives the host's processor to others.
 * Only one hart executes at a time here, so plain variables will do. If another
 * gets its turn in the midst of a change, one turn goes to the wrong one.
 */
#include "icount.h"

#include "clock.h"
#include "hart.h"
#include "machine.h"
#include "thread.h"

#define NAP_US   10
#define NAP_PART 4  /* each hart's of a nap, in interrupts that do nothing */
#define ROUNDS   64 /* sleeps in which others surely come to meet this one */
#define FLUSH    2  /* sleeps after which QEMU divides the time evenly */
#define TRY_US   20 /* the probe's first try; each other takes twice as long */
#define PATIENCE 4  /* of its partner, in tries */
#define SHARES   1000 /* a second: a turn is one, or some */
#define MOST     10   /* shares that one can owe the others */

/* Whose turn it is; until its time is counted, at the next deadline. */
static struct {
	const struct hart *owner; /* NULL: nobody had work */
	uint64_t begun, until;
	int64_t left[HART_MAX]; /* of each one's share, in timer counts */
	volatile bool taken;    /* its owner has gone on */
	bool meets[HART_MAX];   /* who is at the meeting.. */
	bool raised[HART_MAX];  /* ..interrupted at a raised level */
} turn;

/* QEMU divides the time to the next deadline among the harts. */
static bool divides;

/*
 * Where QEMU divides the time, a nap's end is a deadline for all, and till then
 * each gets a part. So it lasts long enough for all to do something, and all
 * naps end at the same moments: of fourteen one would always be about to end,
 * and the hart that all of them wait for execute nothing.
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

/* Let the other harts run for NAP_US or more, for a wait that they alone end;
 * a turn is lent to them. SIE=0, so that the timer can't be taken before the
 * wfi, and is still pending after; then its real deadline is set again, which
 * takes back the interrupt. */
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

/* The probe and its partner: how long a try lasts, in timer counts (0: it's
 * over), how often the partner has looked at that, and if its patience has
 * ended. */
static volatile uint64_t probing = 1;
static volatile unsigned int beats;
static volatile bool gone;

/*
 * Another hart spins; a timer is set, and QEMU goes on with that one. Is this
 * one back before the timer is due? The partner comes from the firmware: until
 * it runs this one sleeps, longer and longer. Where QEMU doesn't divide the
 * time it may run for so long that its patience ends.
 */
void
icount_probe(void)
{
	uint64_t counts = TRY_US * machine.timebase / 1000000, back;

	for (; probing && !gone && counts < machine.timebase; counts *= 2) {
		unsigned int before = beats;
		uint64_t when = rdtime() + counts;

		probing = counts;
		clock_set_timer(when);
		back = rdtime();
		if (beats != before) {
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

/* The clock may have interrupted an idle hart's handler, or the idle thread
 * while it has a lock. */
static bool
has_work(const struct hart *h)
{
	return !h->idling || h->depth > 0 || turn.raised[h->id];
}

/* The next hart after h, round and round, that has work; it may be h. */
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
 * Whose turn is next? Who has used up his share gives way to the next one, and
 * what he had beyond it is taken from his next share: for the next deadline may
 * be near or far.
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

/* h is the first that has met a deadline. A new owner may sleep until another
 * one: it hasn't followed new settings yet, or came late to this one. */
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

/* The owner does. If the next deadline has passed this meeting isn't over. */
static void
go_on(const struct hart *owner)
{
	turn.begun = rdtime();
	turn.taken = true;
	if (turn.begun < clock_next_due(owner))
		sampleclock_met(turn.begun, divides ? nharts : 0);
}

/* Has every hart met what has fallen due? */
static bool
all_met(void)
{
	uint64_t now = rdtime();

	for (unsigned int i = 0; i < nharts; i++)
		if (clock_next_due(&harts[i]) <= now)
			return false;
	return true;
}

/* Has every hart but h gone from the meeting? Those at a raised level wait
 * there for the owner to go on. */
static bool
all_left(const struct hart *h)
{
	for (unsigned int i = 0; i < nharts; i++)
		if (turn.meets[i] && !turn.raised[i] && i != h->id)
			return false;
	return true;
}

/* Sleep, at most so many times and till the next deadline, until done. */
#define SLEEP_UNTIL(done, rounds)                                    \
	for (int n_ = rounds; n_ && rdtime() < due && !(done); n_--) \
	asm volatile("wfi" ::: "memory")

/*
 * A software interrupt is what makes each wfi end. One that comes from another
 * hart meanwhile is lost: it asks for no more than what the handler of this
 * interrupt looks for. Where one executes at a time, the time that all this
 * takes is none that the thread here has had.
 *
 * QEMU 7.2's owner goes last: another may have come only to leave again, to
 * flush or to run who was woken, and would come no further if this one went on
 * until the next deadline.
 *
 * Who can't wait in icount_wait waits here for the owner to go on, but not for
 * ever: that may have gone idle, or be in the firmware. It goes on itself when
 * the owner sleeps, as that does for a lock.
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
		clock_set_timer(0); /* as that interrupt may have said */
	if (!divides)
		h->since += rdtime() - met;
}

/* Is it another one's turn, and is there nothing to do here before that? */
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
	h->since += rdtime() - begun;
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
