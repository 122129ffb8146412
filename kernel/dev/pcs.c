/*
 * pcs, the program counter sampling device of PDP-11 Unix.
 *
 * Only one process at a time can open /dev/pcs. It requests certain kinds of
 * samples with ioctl, and then reads a stream of LOGBUFs (<sys/pcs.h>), which
 * contain records. /dev/pcstat (pcstat.c) shows any process the device's state.
 *
 * This file checks requests, and puts a reader to sleep until a buffer is full.
 * The samples are stored in the log, which has a lock of its own. Read this
 * file first, then pcslog.h. The log is in three files: pcslog.c has the
 * sampler's side, pcsrequest.c what was asked for, pcsreader.c the reader's.
 *
 * Waking up a reader takes locks, so a sampler that has filled a buffer can't
 * do it. It calls sample_defer instead, and its hart calls pcs_wake as soon as
 * the hart is back at interrupt priority level 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"

#include "pcslog.h"
#include "sample.h"

/* Of level 5, as pcs_wake takes it as a part of a tick's work (see lock.h). */
static struct spinlock lock = SPINLOCK5("pcs");
static struct waitq readers GUARDED_BY(lock) = WAITQ_INIT(readers);

/*
 * Wake up all readers, because this hart may have filled a buffer. No wake-up
 * is lost: the buffer was full before this call, and a reader holds the lock
 * from its test of log_full until it is on the queue. A reader that takes the
 * lock after this function sees the buffer. A reader that took it before, and
 * saw no full buffer, is woken up.
 */
void
pcs_wake(void)
{
	spin_lock(&lock);
	wake_all(&readers);
	spin_unlock(&lock);
}

struct profiler pcs_profiler = {
    .count = log_count,
    .deferred = pcs_wake,
};

/* pcstat shows this owner until the close, even if only a child reads. */
static int
pcs_open(struct vnode *, struct file *)
{
	return log_open(current->proc->pid) ? 0 : -EBUSY;
}

/* Called for the last descriptor: no read and no request is in progress. */
static void
pcs_close(struct vnode *, struct file *)
{
	log_close();
}

/*
 * Sleep until there is a full buffer. Returns 0; -EAGAIN if there is none and
 * the descriptor has O_NONBLOCK; or -ERESTART if a signal ended the sleep.
 */
static int
wait_full(const struct file *f)
{
	int r = 0;

	spin_lock(&lock);
	while (r == 0 && !log_full())
		r = f->flags & O_NONBLOCK ? -EAGAIN : wait_on(&readers, &lock);
	spin_unlock(&lock);
	return r;
}

/*
 * A read returns what the full buffers have, up to the requested length. It
 * sleeps only while it has nothing to return. If another reader is faster after
 * wait_full, log_read returns 0, and this one waits for the next buffer.
 */
static ssize_t
pcs_read(struct vnode *, struct file *f, struct uio *u)
{
	ssize_t n = 0;

	while (n == 0 && u->left) {
		n = wait_full(f);
		if (n == 0)
			n = log_read(u);
	}
	return n;
}

/*
 * poll_in has wake_all wake up threads in select and poll, too. The lock is the
 * one that pcs_wake takes. So either a full buffer is seen here, or the next
 * pcs_wake knows that somebody polls.
 */
static unsigned int
pcs_poll(struct vnode *, struct file *)
{
	unsigned int ready;

	spin_lock(&lock);
	poll_in(&readers);
	ready = log_full() ? POLLIN : 0;
	spin_unlock(&lock);
	return ready;
}

/* Is n in the range of the ids of processes and groups? */
static bool
is_pid(long n)
{
	return n > 0 && n <= PID_MAX;
}

/*
 * PROF_LIST: arg is the address of an array of int, { n, pid 1, .. pid n }. The
 * processes need not exist: one may end at any time, and its id be used again.
 *
 * The length n is copied first, alone, because the program's memory may end
 * where the array does. The second copy_in copies n again, together with the
 * ids. That value isn't used: the program may have changed it after the check.
 */
static int
ask_list(unsigned int cmd, uintptr_t arg)
{
	int from[1 + MAX_LIST];
	struct pid_list list;

	if (copy_in(from, arg, sizeof(*from)) != 0)
		return -EFAULT;
	if (from[0] <= 0 || from[0] > MAX_LIST)
		return -EINVAL;
	list.p_count = from[0];
	if (copy_in(from, arg, (1 + list.p_count) * sizeof(*from)) != 0)
		return -EFAULT;
	for (int i = 0; i < list.p_count; i++) {
		if (!is_pid(from[1 + i]))
			return -EINVAL;
		list.p_list[i] = from[1 + i];
	}
	log_ask(cmd, 0, &list);
	return 0;
}

/* The requests of <sys/pcs.h>. A request that fails changes nothing. */
static int
pcs_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	struct pcs_stat account;

	switch (cmd) {
	case PROF_KERNEL:
	case PROF_ALL:
	case PROF_STACK:
	case PROF_SEAL:
		log_ask(cmd, 0, NULL);
		return 0;
	case PROF_EVENTS:
		return arg > 1 ? -EINVAL : log_events(arg);
	case PROF_GROUP:
		if (!is_pid(arg))
			return -EINVAL;
		log_ask(cmd, arg, NULL);
		return 0;
	case PROF_LIST:
		return ask_list(cmd, arg);
	case PCS_END:
		log_end();
		return 0;
	case BUF_INCR:
		return arg && log_grow(arg) ? 0 : -EINVAL;
	case PCS_STAT:
		account = log_state().account;
		return copy_out(arg, &account, sizeof(account));
	default:
		return -ENOTTY;
	}
}

static const struct devfile files[] = {
    {.name = "pcs", .mode = 0400},
    {0},
};

const struct device pcs_device = {
    .files = files,
    .stream = true,
    .init = log_init,
    .ops.open = pcs_open,
    .ops.close = pcs_close,
    .ops.read = pcs_read,
    .ops.ioctl = pcs_ioctl,
    .ops.poll = pcs_poll,
};
