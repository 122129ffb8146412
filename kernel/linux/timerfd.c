/*
 * timerfd_create and its two calls: a file that can be read when a time has
 * come. A read gives how often it has come since the last one.
 *
 * There is no timer behind it. A timerfd is a time, and whoever waits for it
 * waits until then: a reader by the deadline of its wait, those who poll by
 * that of theirs (poll_until). Nothing is done when nobody waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/riscv.h"
#include "fs/anon.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "mm/kmalloc.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"
#include "sched/time.h"

struct timerfd {
	struct vnode vnode; /* first: the vnode's address is the timerfd's */
	int clock;
	struct spinlock lock; /* level 1; guards the rest */
	uint64_t next;        /* in timer counts; WAIT_FOREVER: not set */
	uint64_t interval;    /* in timer counts; 0: once */
	struct waitq waiters; /* woken when it is set */
};

static struct timerfd *
timerfd_of(struct vnode *v)
{
	return (struct timerfd *)v;
}

/* How often has the time come since the last read? The caller holds the lock,
 * and with `take` this is a read. */
static uint64_t
expired(struct timerfd *t, bool take)
{
	uint64_t now = rdtime(), times = 1;

	must_hold(&t->lock);
	if (now < t->next)
		return 0;
	if (t->interval != 0)
		times += (now - t->next) / t->interval;
	if (take)
		t->next = t->interval != 0 ? t->next + times * t->interval
					   : WAIT_FOREVER;
	return times;
}

static ssize_t
timerfd_read(struct vnode *v, struct file *f, struct uio *u)
{
	struct timerfd *t = timerfd_of(v);
	uint64_t times;
	ssize_t r = 0;

	if (u->left < sizeof(times))
		return -EINVAL;
	spin_lock(&t->lock);
	while ((times = expired(t, true)) == 0 && r != -ERESTART) {
		r = -EAGAIN;
		if (f->flags & O_NONBLOCK)
			break;
		r = wait_until(&t->waiters, &t->lock, t->next);
	}
	spin_unlock(&t->lock);
	return times != 0 ? uio_to(u, &times, sizeof(times)) : r;
}

static unsigned int
timerfd_poll(struct vnode *v, struct file *)
{
	struct timerfd *t = timerfd_of(v);
	unsigned int ready = 0;

	spin_lock(&t->lock);
	poll_in(&t->waiters);
	if (expired(t, false) != 0)
		ready = POLLIN;
	else
		poll_until(t->next);
	spin_unlock(&t->lock);
	return ready;
}

static void
timerfd_free(struct vnode *v)
{
	kfree(timerfd_of(v));
}

static const struct vnode_ops timerfd_ops = {
    .read = timerfd_read,
    .write = anon_refuse,
    .poll = timerfd_poll,
    .stat = anon_stat,
    .free = timerfd_free,
};

/* timerfd_create(clock, flags): a new descriptor. */
long
sys_timerfd_create(const unsigned long *arg)
{
	int clock = arg[0], flags = arg[1];
	struct timerfd *t;

	if (flags & ~(O_CLOEXEC | O_NONBLOCK) ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC &&
	     clock != CLOCK_BOOTTIME))
		return -EINVAL;
	t = kzalloc(sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	anon_init(&t->vnode, &timerfd_ops);
	t->clock = clock;
	t->lock = (struct spinlock)SPINLOCK1("timerfd");
	t->next = WAIT_FOREVER;
	t->waiters = (struct waitq)WAITQ_FOR(t->waiters, WAITS_SLEEP, 0);
	return anon_open(current->proc->fds, &t->vnode, flags);
}

/* The timerfd that fd stands for, as a file to be put: 0, or an errno. */
static int
timerfd_get(int fd, struct file **out)
{
	struct file *f = fd_get(current->proc->fds, fd);

	if (f == NULL)
		return -EBADF;
	if (f->vnode->ops != &timerfd_ops) {
		file_put(f);
		return -EINVAL;
	}
	*out = f;
	return 0;
}

/* What is set now, with the time that is left. */
static struct itimerspec
setting_of(struct timerfd *t)
{
	struct itimerspec s = {0};
	uint64_t now = rdtime(), left = 0, late;

	must_hold(&t->lock);
	if (t->next != WAIT_FOREVER && t->next > now) {
		left = t->next - now;
	} else if (t->next != WAIT_FOREVER && t->interval != 0) {
		late = (now - t->next) % t->interval;
		left = t->interval - late;
	}
	s.it_value = time_of_ns(time_of_counts(left));
	s.it_interval = time_of_ns(time_of_counts(t->interval));
	return s;
}

static int
counts_of(const struct timespec *ts, uint64_t *counts)
{
	return time_counts(ts->tv_sec, ts->tv_nsec, NS_PER_SEC, counts);
}

/* The time at which t comes first, of its first value in counts. One of the
 * time of day is so much later as that is ahead of the time since boot. */
static uint64_t
first_time(const struct timerfd *t, uint64_t value, int flags)
{
	uint64_t now = rdtime(), ahead_ns, ahead;
	struct timespec ts;

	if (!(flags & TFD_TIMER_ABSTIME))
		return value > WAIT_FOREVER - 1 - now ? WAIT_FOREVER - 1
						      : now + value;
	if (t->clock != CLOCK_REALTIME)
		return value;
	ahead_ns = time_realtime_ns() - time_of_counts(now);
	ts = time_of_ns(ahead_ns);
	if (counts_of(&ts, &ahead) != 0 || value < ahead)
		return 0;
	return value - ahead;
}

/* timerfd_settime(fd, flags, new, old or 0) */
long
sys_timerfd_settime(const unsigned long *arg)
{
	int flags = arg[1], r;
	struct itimerspec new, old;
	uint64_t value, interval;
	struct timerfd *t;
	struct file *f;

	if (copy_in(&new, arg[2], sizeof(new)) < 0)
		return -EFAULT;
	if (flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) ||
	    counts_of(&new.it_value, &value) < 0 ||
	    counts_of(&new.it_interval, &interval) < 0)
		return -EINVAL;
	r = timerfd_get(arg[0], &f);
	if (r < 0)
		return r;
	t = timerfd_of(f->vnode);
	spin_lock(&t->lock);
	old = setting_of(t);
	t->next = WAIT_FOREVER;
	if (new.it_value.tv_sec != 0 || new.it_value.tv_nsec != 0)
		t->next = first_time(t, value, flags);
	t->interval = interval;
	wake_all(&t->waiters);
	spin_unlock(&t->lock);
	file_put(f);
	return arg[3] != 0 ? copy_out(arg[3], &old, sizeof(old)) : 0;
}

/* timerfd_gettime(fd, setting) */
long
sys_timerfd_gettime(const unsigned long *arg)
{
	struct itimerspec s;
	struct file *f;
	int r = timerfd_get(arg[0], &f);

	if (r < 0)
		return r;
	spin_lock(&timerfd_of(f->vnode)->lock);
	s = setting_of(timerfd_of(f->vnode));
	spin_unlock(&timerfd_of(f->vnode)->lock);
	file_put(f);
	return copy_out(arg[1], &s, sizeof(s));
}
