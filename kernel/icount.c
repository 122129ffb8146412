/*
 * Harts take turns, as far as the guest can see to it.
 *
 * Under -icount QEMU runs one hart at a time, all on one thread of the host's.
 * Virtual time is the number of instructions that all of them executed, so
 * what one hart executes is taken from the others' time. QEMU leaves a hart
 * for the next one when it sleeps (wfi), and when a timer's deadline comes,
 * for which it has counted the instructions in advance. It knows nothing of
 * whose turn it is. Two things go wrong if a kernel leaves it at that:
 *
 * - A hart that waits for another one by spinning keeps it from running: the
 *   wait ends only with QEMU's turn, and perhaps not at all, if the two of
 *   them are in step. So it sleeps in between, until a deadline of its own
 *   (clock_nap).
 *
 * - After a deadline QEMU 7.2 may go on with the hart that it had before, and
 *   others that have work stand still, for seconds. So all harts have their
 *   deadlines at the same moments, and from one to the next all that have work
 *   but one pass their turn on: they sleep (icount_turn).
 *
 * Nothing of the machine tells that it runs so: the boot argument icount does,
 * which scripts/run gives with --icount. Any other machine has no turns.
 */
#include "icount.h"

#include "clock.h"
#include "hart.h"
#include "machine.h"

#define NAP_US      10
#define TURN_ROUNDS 6

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

/* Turns are counted by deadlines that all harts have at once: samples if they
 * come often and without jitter, else ticks. */
static uint64_t
turn_number(const struct hart *h)
{
	if (profclock.jitter || profclock.hz < HZ)
		return h->next_tick / (machine.timebase / HZ);
	return clock_next_due(h) / (machine.timebase / profclock.hz);
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
 * From deadline to deadline it is the turn of one hart. It sleeps once, so that
 * all others come to meet this deadline; they sleep until it says that it goes
 * on. (A fixed number of times won't do: a hart that comes to it later than the
 * others would find each of its turns taken, for good.) It may not come to
 * that, having gone idle or being in the firmware: they sleep TURN_ROUNDS times
 * at most.
 *
 * (A software interrupt that comes from elsewhere meanwhile may be cleared: it
 * asks for no more than what every interrupt does before it returns.)
 */
void
icount_turn(const struct hart *h)
{
	static uint64_t taken; /* the last turn whose hart went on */
	uint64_t turn = turn_number(h);
	bool mine = turn_of(turn) == h;
	int rounds = mine ? 1 : TURN_ROUNDS;
	unsigned long sie = csr_read(sie);

	csr_set(sip, SIE_SOFT);
	csr_set(sie, SIE_SOFT);
	while (rounds-- && rdtime() < clock_next_due(h) &&
	       (mine || __atomic_load_n(&taken, __ATOMIC_RELAXED) != turn))
		asm volatile("wfi" ::: "memory");
	if (mine)
		__atomic_store_n(&taken, turn, __ATOMIC_RELAXED);
	csr_clear(sip, SIE_SOFT);
	csr_write(sie, sie);
}
