/*
 * eventfd2: a count that is a file. A write adds to it, a read takes it away,
 * and waits while it is 0. A program wakes itself up by it, or another thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "fs/anon.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "mm/kmalloc.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"

#define COUNT_MAX (UINT64_MAX - 1)

struct eventfd {
	struct vnode vnode; /* first: the vnode's address is the eventfd's */
	bool semaphore;
	struct spinlock lock; /* level 1; guards the rest */
	uint64_t count;
	struct waitq readers, writers;
};

static struct eventfd *
eventfd_of(struct vnode *v)
{
	return (struct eventfd *)v;
}

/* Wait on q while there is no room to take from (write: to add to) the count.
 * The caller holds the lock. */
static int
wait_room(struct eventfd *e, const struct file *f, struct waitq *q)
{
	must_hold(&e->lock);
	return f->flags & O_NONBLOCK ? -EAGAIN : wait_on(q, &e->lock);
}

/* A reader that can't be given the count hasn't taken it, as far as there is
 * room for it still. */
static void
give_back(struct eventfd *e, uint64_t taken)
{
	spin_lock(&e->lock);
	e->count = taken > COUNT_MAX - e->count ? COUNT_MAX : e->count + taken;
	wake_all(&e->readers);
	spin_unlock(&e->lock);
}

static ssize_t
eventfd_read(struct vnode *v, struct file *f, struct uio *u)
{
	struct eventfd *e = eventfd_of(v);
	uint64_t taken = 0;
	ssize_t r = 0;

	if (u->left < sizeof(taken))
		return -EINVAL;
	spin_lock(&e->lock);
	while (r == 0 && e->count == 0)
		r = wait_room(e, f, &e->readers);
	if (r == 0) {
		taken = e->semaphore ? 1 : e->count;
		e->count -= taken;
		wake_all(&e->writers);
	}
	spin_unlock(&e->lock);
	if (r == 0) {
		r = uio_to(u, &taken, sizeof(taken));
		if (r < 0)
			give_back(e, taken);
	}
	return r;
}

static ssize_t
eventfd_write(struct vnode *v, struct file *f, struct uio *u)
{
	struct eventfd *e = eventfd_of(v);
	uint64_t more;
	ssize_t r;

	if (u->left < sizeof(more))
		return -EINVAL;
	r = uio_from(u, &more, sizeof(more));
	if (r < 0)
		return r;
	if (more > COUNT_MAX)
		return -EINVAL;
	r = 0;
	spin_lock(&e->lock);
	while (r == 0 && more > COUNT_MAX - e->count)
		r = wait_room(e, f, &e->writers);
	if (r == 0) {
		e->count += more;
		wake_all(&e->readers);
	}
	spin_unlock(&e->lock);
	return r == 0 ? (ssize_t)sizeof(more) : r;
}

static unsigned int
eventfd_poll(struct vnode *v, struct file *)
{
	struct eventfd *e = eventfd_of(v);
	unsigned int ready = 0;

	spin_lock(&e->lock);
	poll_in(&e->readers);
	poll_out(&e->writers);
	if (e->count > 0)
		ready |= POLLIN;
	if (e->count < COUNT_MAX)
		ready |= POLLOUT;
	spin_unlock(&e->lock);
	return ready;
}

static void
eventfd_free(struct vnode *v)
{
	kfree(eventfd_of(v));
}

static const struct vnode_ops eventfd_ops = {
    .read = eventfd_read,
    .write = eventfd_write,
    .poll = eventfd_poll,
    .stat = anon_stat,
    .free = eventfd_free,
};

/* eventfd2(count, flags): a new descriptor. */
long
sys_eventfd2(const unsigned long *arg)
{
	int flags = arg[1];
	struct eventfd *e;

	if (flags & ~(EFD_SEMAPHORE | O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	e = kzalloc(sizeof(*e));
	if (e == NULL)
		return -ENOMEM;
	anon_init(&e->vnode, &eventfd_ops);
	e->semaphore = flags & EFD_SEMAPHORE;
	e->lock = (struct spinlock)SPINLOCK1("eventfd");
	e->count = (unsigned int)arg[0];
	e->readers = (struct waitq)WAITQ_INIT(e->readers);
	e->writers = (struct waitq)WAITQ_INIT(e->writers);
	return anon_open(current->proc->fds, &e->vnode, flags);
}
