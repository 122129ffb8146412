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
 *   stand still. Here they go first by turns.
 *   QEMU 8 and later give each hart the same part of the time to the deadline,
 *   one after the other; but after a deadline, or a timer that is set, each
 *   gets that part of what those before it have left. That is over when each
 *   has been left once: so all sleep a few times, and the first one goes first.
 *   Which of the two this is, is tried out at boot (icount_probe).
 *
 * To sleep is a wfi for an interrupt that is pending: QEMU ends it when it
 * comes round again. What is due meanwhile is charged to what was interrupted,
 * as this is a part of the timer's interrupt.
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
#define ROUNDS   16 /* sleeps in which others surely come to meet this one */
#define FLUSH    2  /* sleeps after which QEMU divides the time evenly */
#define TRY_US   20 /* the probe's first try; each other takes twice as long */
#define PATIENCE 4  /* of its partner, in tries */

/* Let the other harts run for NAP_US, for a wait that only they can end. SIE=0,
 * so that the timer can't be taken before the wfi, and is still pending after;
 * then its real deadline is set again, which takes back the interrupt. */
void
clock_nap(void)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);

	clock_set_timer(rdtime() + NAP_US * machine.timebase / 1000000);
	asm volatile("wfi" ::: "memory");
	clock_set_timer(clock_next_due(this_hart()));
	csr_set(sstatus, sstatus & SSTATUS_SIE);
}

/* QEMU divides the time to the next deadline among the harts. */
static bool divides;

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

/* Whose turn it is, and until when: the next deadline of all harts. */
static struct {
	const struct hart *owner;
	uint64_t until;
	volatile bool taken; /* its owner has gone on */
} turn;

/* The first of those that have work; or where only one hart executes in each
 * turn, one after the other, for all deadlines within a tick. */
static const struct hart *
next_owner(void)
{
	const struct hart *h = this_hart();
	uint64_t tick = h->next_tick / (machine.timebase / HZ);
	unsigned int busy = 0, n;

	for (unsigned int i = 0; i < nharts; i++)
		busy += !harts[i].idling;
	n = divides || busy == 0 ? 0 : tick % busy;
	for (unsigned int i = 0; i < nharts; i++)
		if (!harts[i].idling && n-- == 0)
			return &harts[i];
	return h;
}

/* The first hart that has met a deadline says whose turn comes then. */
static bool
is_owner(const struct hart *h)
{
	uint64_t due = clock_next_due(h);

	if (turn.until < due) {
		turn.owner = next_owner();
		turn.until = due;
		turn.taken = false;
	}
	return turn.until == due && turn.owner == h;
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

/* Sleep, at most so many times and till the next deadline, until done. */
#define SLEEP_UNTIL(done, rounds)                                    \
	for (int n_ = rounds; n_ && rdtime() < due && !(done); n_--) \
	asm volatile("wfi" ::: "memory")

/*
 * The owner of the turn and those who are idle wait for the others to come to
 * meet this deadline; the others wait for the owner to go on. It may not come
 * to that, having gone idle or being in the firmware: they don't wait for ever.
 *
 * (A software interrupt that comes from elsewhere meanwhile may be cleared: it
 * asks for no more than what every interrupt does before it returns.)
 */
void
icount_turn(const struct hart *h)
{
	uint64_t due = clock_next_due(h);
	bool idle = h->idling, owner = !idle && is_owner(h);
	unsigned long sie = csr_read(sie);

	csr_set(sip, SIE_SOFT);
	csr_set(sie, SIE_SOFT);
	if (idle || owner)
		SLEEP_UNTIL(all_met(), ROUNDS);
	else
		SLEEP_UNTIL(turn.taken, ROUNDS);
	if (owner && divides)
		SLEEP_UNTIL(false, FLUSH);
	/* For the owner it's over, also if it took longer than there was time;
	 * where all are idle, when the last has come. */
	if (owner || (idle && all_met()))
		sampleclock_met(rdtime());
	if (owner && rdtime() < due)
		turn.taken = true;
	csr_clear(sip, SIE_SOFT);
	csr_write(sie, sie);
}
