/*
 * flight: the latest samples, as a flight recorder keeps them.
 *
 * Between the sampler and the readers there are two locks. `busy' guards the
 * ring; the sampler takes it with SIE=0, and so does everybody else, as the
 * sampler would else wait for what it has interrupted. It is held for a few
 * instructions. `lock' guards the queue of sleepers. The sampler can't take it:
 * it only notes that they are to be woken up, which is done later, at level 5.
 *
 * A reader holds `lock' from its look at the ring to its sleep. So a wake-up
 * comes either before the look, which then finds the records, or after it
 * sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/riscv.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lab.h"
#include "sched/clock.h"
#include "sched/lock.h"

#include "flight.h"
#include "sample.h"

static unsigned int busy; /* atomic */
/* Under busy. Positions: record p is in ring[p % FLIGHT_RECORDS]. */
static struct flight_record ring[FLIGHT_RECORDS];
static uint64_t first, next;
static uint64_t lost;

static struct spinlock lock = SPINLOCK5("flight");
static struct waitq readers = WAITQ_INIT(readers);
static unsigned int opened; /* atomic */

static unsigned long
ring_lock(void)
{
	unsigned long sstatus = csr_read_clear(sstatus, SSTATUS_SIE);

	while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		clock_nap();
	return sstatus;
}

static void
ring_unlock(unsigned long sstatus)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	csr_set(sstatus, sstatus & SSTATUS_SIE);
}

static void
flight_count(const struct sample *s)
{
	unsigned long sstatus = ring_lock();
	bool full = next - first == FLIGHT_RECORDS;

	if (full)
		lost++;
	if (full && LAB_OLDEST_GOES)
		first++;
	if (!full || LAB_OLDEST_GOES)
		ring[next++ % FLIGHT_RECORDS] = (struct flight_record){
		    .pc = s->pc,
		    .pid = s->pid,
		    .where = LAB_WHERE(s),
		};
	if (next - first >= FLIGHT_WAKE)
		sample_defer();
	ring_unlock(sstatus);
}

static void
flight_deferred(void)
{
	spin_lock(&lock);
	wake_all(&readers);
	spin_unlock(&lock);
}

struct profiler flight_profiler = {
    .count = flight_count,
    .deferred = flight_deferred,
};

static uint64_t
records(void)
{
	unsigned long sstatus = ring_lock();
	uint64_t n = next - first;

	ring_unlock(sstatus);
	return n;
}

/* Take the oldest record out, if there is one. */
static bool
take(struct flight_record *r)
{
	unsigned long sstatus = ring_lock();
	bool any = first != next;

	if (any)
		*r = ring[first++ % FLIGHT_RECORDS];
	ring_unlock(sstatus);
	return any;
}

static void
lose(void)
{
	unsigned long sstatus = ring_lock();

	lost++;
	ring_unlock(sstatus);
}

static int
flight_open(struct vnode *, struct file *)
{
	if (__atomic_exchange_n(&opened, 1, __ATOMIC_ACQUIRE))
		return -LAB_TWICE;
	first = next = lost = 0;
	sample_arm(&flight_profiler);
	return 0;
}

static void
flight_close(struct vnode *, struct file *)
{
	sample_disarm(&flight_profiler);
	__atomic_store_n(&opened, 0, __ATOMIC_RELEASE);
}

/* Wait until there are enough records. */
static int
wait_enough(const struct file *f)
{
	int r = 0;

	spin_lock(&lock);
	while (r == 0 && records() < FLIGHT_WAKE)
		r = f->flags & O_NONBLOCK ? -EAGAIN : wait_on(&readers, &lock);
	spin_unlock(&lock);
	return r;
}

static ssize_t
flight_read(struct vnode *, struct file *f, struct uio *u)
{
	struct flight_record r;
	ssize_t total = 0;
	int error;

	if (u->left < sizeof(r))
		return -EINVAL;
	error = wait_enough(f);
	if (LAB_END && error == -EAGAIN)
		return 0;
	if (error < 0)
		return error;
	while (u->left >= sizeof(r) && take(&r)) {
		if (uio_to(u, &r, sizeof(r)) < 0) {
			lose();
			return total ? total : -EFAULT;
		}
		total += sizeof(r);
	}
	return total;
}

static unsigned int
flight_poll(struct vnode *, struct file *)
{
	unsigned int ready;

	spin_lock(&lock);
	readers.polled = true;
	ready = records() >= FLIGHT_WAKE ? POLLIN : 0;
	spin_unlock(&lock);
	return ready;
}

static int
flight_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t)
{
	unsigned long sstatus;
	uint64_t n;

	if (cmd != FLIGHT_LOST)
		return -ENOTTY;
	sstatus = ring_lock();
	n = lost;
	if (LAB_LOST_RESETS)
		lost = 0;
	ring_unlock(sstatus);
	return n;
}

static const struct devfile files[] = {
    {.name = "flight", .mode = 0400},
    {0},
};

const struct device flight_device = {
    .files = files,
    .stream = true,
    .ops.open = flight_open,
    .ops.close = flight_close,
    .ops.read = flight_read,
    .ops.poll = flight_poll,
    .ops.ioctl = flight_ioctl,
};
