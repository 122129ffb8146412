/*
 * pcs, the program counter sampling device of PDP-11 Unix.
 *
 * /dev/pcs is opened by one at a time, asked by ioctl for samples of certain
 * kinds, and read: a stream of LOGBUFs, as <sys/pcs.h> has them. The text file
 * /dev/pcstat says how that goes, to anybody.
 *
 * Samples go to the log (pcslog.c). The sampler can't wake a reader: its hart
 * does, as soon as it is back at level 0, when a buffer has become full.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "../print.h"
#include "../proc/proc.h"
#include "../sample.h"
#include "dev.h"
#include "pcslog.h"

static struct spinlock lock = SPINLOCK5("pcs"); /* guards this queue */
static struct waitq readers = WAITQ_INIT(readers);

static void
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

static int
pcs_open(struct vnode *, struct file *)
{
	return log_open(current->proc->pid) ? 0 : -EBUSY;
}

/* The last descriptor is gone, so nobody reads or asks. */
static void
pcs_close(struct vnode *, struct file *)
{
	log_close();
}

/* Wait for a full buffer: 0, or an errno. */
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

/* All full buffers, one after the other, as far as the length goes. It waits
 * only while it has nothing: another reader may have been faster. */
static ssize_t
pcs_read(struct vnode *, struct file *f, struct uio *u)
{
	ssize_t n = 0;

	while (n == 0 && u->left) {
		n = wait_full(f);
		if (n == 0) /* another reader may have emptied it */
			n = log_read(u);
	}
	return n;
}

static unsigned int
pcs_poll(struct vnode *, struct file *)
{
	unsigned int ready;

	spin_lock(&lock);
	readers.polled = true;
	ready = log_full() ? POLLIN : 0;
	spin_unlock(&lock);
	return ready;
}

static bool
is_pid(long n)
{
	return n > 0 && n <= PID_MAX;
}

/* There need be no such processes. */
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

static int
pcs_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	struct pcs_stat account;

	switch (cmd) {
	case PROF_KERNEL:
	case PROF_ALL:
	case PROF_STACK:
		log_ask(cmd, 0, NULL);
		return 0;
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
