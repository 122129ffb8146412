/*
 * /dev/blindlab: for the tests of the sampler and its clock. By ioctls the
 * kernel works for a known time at each level. This is a profiler, too: a log
 * has each sample, with the time at which it was really taken and the work that
 * was really going on; and when work began and ended. Reading returns the log.
 * It is for one hart.
 */
#include <errno.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"
#include "sched/strokes.h"
#include "sched/timer.h"

#include "sample.h"

/*
 * The ioctls. The argument is a time in us. That of work may have another one
 * in its upper half: so long after the clock's start it begins; 0: at once.
 */
enum {
	BLIND_CLEAR = 1, /* the log, and let it have samples */
	BLIND_GO,        /* start the clock, so long after a tick's moment */
	BLIND_HOLD,      /* hold it, so long after its start */
	BLIND_LEVEL0,    /* work for so long, under no lock, */
	BLIND_LEVEL1,    /* under a lock of level 1, */
	BLIND_LEVEL5,    /* of level 5, */
	BLIND_NEST,      /* under the first, both, and the first again; */
	BLIND_DARK,      /* or with SIE=0 */
	BLIND_WORK,      /* from now on a timer's function works for so long */
	BLIND_RING,      /* set a timer, due so much later */
	BLIND_LOOK,      /* log what the clock says, so long after its start */
	BLIND_SWEEP,     /* see sweep, which is done so often */
};

/* What a log entry is, and its value. */
enum {
	BLIND_SAMPLE = 1, /* pc */
	BLIND_BEGIN,      /* of work; none */
	BLIND_END,        /* of work, with the lock held; none */
	BLIND_FREE,       /* the lock is released, or SIE is 1; none */
	BLIND_RUNG,       /* a timer's function was called; none */
	BLIND_SINCE,      /* the clock was started; when */
	BLIND_HELD,       /* it was held; when */
	BLIND_NEXT,       /* the next stroke */
	BLIND_TICK,       /* the next tick */
	BLIND_TICKS,      /* how many there were */
	BLIND_COUNT,      /* one of strokes_counts */
};

struct entry {
	uint64_t time; /* rdtime() */
	uint64_t value;
	uint8_t kind;
	uint8_t work; /* what was going on then: one of the ioctls, or 0 */
	uint8_t level;
	uint8_t mode; /* of a sample */
	uint32_t spare;
};

#define ENTRIES 4000
#define MARGIN  5   /* us before a tick's moment, where a sweep begins */
#define DELAYS  80  /* instructions, in which the lock is surely released */
#define SOON    300 /* us in which its work is surely done */

static struct entry entries[ENTRIES];
static unsigned int used; /* atomic */

static volatile unsigned int work; /* that is going on */
static uint64_t ring_work;         /* counts */
static volatile unsigned int rings;

static struct spinlock lock1 = SPINLOCK1("blindlab, level 1");
static struct spinlock lock5 = SPINLOCK5("blindlab, level 5");
static struct timer timer;

static inline uint64_t
counts_of(uint64_t us)
{
	return us * (machine.timebase / 1000000);
}

static void
note(unsigned int kind, uint64_t value, unsigned int level, unsigned int mode)
{
	unsigned int i = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);

	if (i < ENTRIES)
		entries[i] = (struct entry){
		    .time = rdtime(),
		    .value = value,
		    .kind = kind,
		    .work = work,
		    .level = level,
		    .mode = mode,
		};
}

static void
note_now(unsigned int kind, uint64_t value)
{
	note(kind, value, level_of(csr_read(sie)), 0);
}

static void
blindlab_count(const struct sample *s)
{
	note(BLIND_SAMPLE, s->pc, s->ipl, s->mode);
}

struct profiler blindlab_profiler = {.count = blindlab_count};

/* A function for each kind of work, to be found in a profile. noipa keeps the
 * compiler from merging them. */
#define WORK(name)                                              \
	static __attribute__((noipa)) void name(uint64_t until) \
	{                                                       \
		while (rdtime() < until)                        \
			;                                       \
	}
WORK(blind_level0)
WORK(blind_level1)
WORK(blind_level5)
WORK(blind_dark)
WORK(blind_ring)

static void
do_work(unsigned int kind, void (*f)(uint64_t until), uint64_t counts)
{
	unsigned int outer = work;

	work = kind;
	note_now(BLIND_BEGIN, 0);
	f(rdtime() + counts);
	note_now(BLIND_END, 0);
	work = outer;
}

/* A tick calls this. */
static void
ring(void *)
{
	rings++;
	note_now(BLIND_RUNG, 0);
	if (ring_work)
		do_work(BLIND_RING, blind_ring, ring_work);
}

static void
nest(uint64_t counts)
{
	spin_lock(&lock1);
	do_work(BLIND_LEVEL1, blind_level1, counts);
	spin_lock(&lock5);
	do_work(BLIND_LEVEL5, blind_level5, counts);
	spin_unlock(&lock5);
	note_now(BLIND_FREE, 0);
	do_work(BLIND_LEVEL1, blind_level1, counts);
	spin_unlock(&lock1);
	note_now(BLIND_FREE, 0);
}

static void
dark(uint64_t counts)
{
	csr_clear(sstatus, SSTATUS_SIE);
	do_work(BLIND_DARK, blind_dark, counts);
	csr_set(sstatus, SSTATUS_SIE);
	note_now(BLIND_FREE, 0);
}

static void
locked(struct spinlock *lk, unsigned int kind, void (*f)(uint64_t until),
       uint64_t counts)
{
	spin_lock(lk);
	do_work(kind, f, counts);
	spin_unlock(lk);
	note_now(BLIND_FREE, 0);
}

static void
wait(uint64_t until)
{
	while (rdtime() < until)
		;
}

/* All that it logs is of one moment. */
static void
look(void)
{
	const struct hart *h = this_hart();
	uint64_t counts[STROKES_COUNTS];

	csr_clear(sstatus, SSTATUS_SIE);
	note_now(BLIND_NEXT, h->sampleclock.next);
	note_now(BLIND_TICK, h->next_tick);
	note_now(BLIND_TICKS, h->ticks);
	strokes_counts(h, counts);
	for (unsigned int i = 0; i < STROKES_COUNTS; i++)
		note_now(BLIND_COUNT, counts[i]);
	csr_set(sstatus, SSTATUS_SIE);
}

/* Release a lock about a tick's moment, a delay of so many instructions later;
 * is the timer that is due then served? The loop that waits for a time comes to
 * its end some instructions after it: which, is up to where it begins. */
static bool
served(struct spinlock *lk, unsigned int delay, unsigned int phase)
{
	uint64_t due = this_hart()->next_tick;
	unsigned int before = rings;

	timer_set(&timer, due - 1, 0);
	for (; phase > 0; phase--)
		asm volatile("");
	wait(due - counts_of(MARGIN));
	spin_lock(lk);
	if (delay % 2)
		asm volatile("nop");
	for (delay /= 2; delay > 0; delay--)
		asm volatile("");
	spin_unlock(lk);
	wait(due + counts_of(SOON));
	return rings != before;
}

/* How many ticks that came while a lock was released weren't served then? */
static int
sweep(unsigned int times)
{
	int lost = 0;

	for (unsigned int i = 0; i < times; i++)
		lost += !served(i % 2 ? &lock1 : &lock5, i / 2 % DELAYS,
				i / 2 / DELAYS);
	return lost;
}

/* What the words of /dev/profclock do, at a moment that is known. */
static void
hold(bool held)
{
	profclock.held = held;
	sampleclock_apply();
	note_now(held ? BLIND_HELD : BLIND_SINCE, profclock.since);
}

static void
go(uint64_t counts)
{
	uint64_t tick = machine.timebase / HZ, now = rdtime();

	wait(now - now % tick + tick + counts);
	hold(false);
}

static int
blindlab_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	uint64_t counts = counts_of(arg & UINT32_MAX);

	if (arg >> 32)
		wait(profclock.since + counts_of(arg >> 32));
	switch (cmd) {
	case BLIND_CLEAR:
		sample_arm(&blindlab_profiler);
		ring_work = 0;
		__atomic_store_n(&used, 0, __ATOMIC_RELAXED);
		return 0;
	case BLIND_GO:
		go(counts);
		return 0;
	case BLIND_HOLD:
		wait(profclock.since + counts);
		hold(true);
		return 0;
	case BLIND_LEVEL0:
		do_work(cmd, blind_level0, counts);
		return 0;
	case BLIND_LEVEL1:
		locked(&lock1, cmd, blind_level1, counts);
		return 0;
	case BLIND_LEVEL5:
		locked(&lock5, cmd, blind_level5, counts);
		return 0;
	case BLIND_NEST:
		nest(counts);
		return 0;
	case BLIND_DARK:
		dark(counts);
		return 0;
	case BLIND_WORK:
		ring_work = counts;
		return 0;
	case BLIND_RING:
		timer_set(&timer, rdtime() + counts, 0);
		return 0;
	case BLIND_LOOK:
		wait(profclock.since + counts);
		look();
		return 0;
	case BLIND_SWEEP:
		return sweep(arg);
	}
	return -ENOTTY;
}

static ssize_t
blindlab_read(struct vnode *, struct file *, struct uio *u)
{
	uint64_t size = __atomic_load_n(&used, __ATOMIC_RELAXED);

	if (size > ENTRIES)
		size = ENTRIES;
	size *= sizeof(entries[0]);
	if (u->offset >= (off_t)size)
		return 0;
	return uio_to(u, (const char *)entries + u->offset, size - u->offset);
}

static void
blindlab_init(void)
{
	timer_init(&timer, ring, NULL);
}

static const struct devfile files[] = {
    {.name = "blindlab", .mode = 0600},
    {0},
};

const struct device blindlab_device = {
    .files = files,
    .init = blindlab_init,
    .ops.read = blindlab_read,
    .ops.ioctl = blindlab_ioctl,
};
