/* The calls of epoll: fs/epoll.c does the work. Waiting is as in poll (see
 * select.c, which explains why no change is missed). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "base/riscv.h"
#include "fs/epoll.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"
#include "syscall/select.h"

#define REPORTS   64 /* that one call returns at most */
#define MS_PER_S  1000
#define MAX_COUNT (INT_MAX / sizeof(struct epoll_event))

/* epoll_create1(flags): a new descriptor. */
long
sys_epoll_create1(const unsigned long *arg)
{
	int flags = arg[0];

	if (flags & ~O_CLOEXEC)
		return -EINVAL;
	return epoll_create(current->proc->fds, flags);
}

/* May f, at descriptor fd, be watched by epoll, and how? In Linux's order. */
static int
control(struct file *epoll, int op, struct file *f, int fd,
	const struct epoll_event *event)
{
	if (f->vnode->ops->poll == NULL)
		return -EPERM;
	if (f == epoll || !epoll_is(epoll) || op < EPOLL_CTL_ADD ||
	    op > EPOLL_CTL_MOD)
		return -EINVAL;
	if (op == EPOLL_CTL_MOD && event->events & EPOLLEXCLUSIVE)
		return -EINVAL;
	if (op == EPOLL_CTL_ADD && epoll_is(f))
		return -ELOOP;
	return epoll_control(epoll->vnode, op, f, fd, event);
}

/* epoll_ctl(epoll, op, fd, event). Linux can watch another epoll; here that is
 * ELOOP, as if it were too deep. */
long
sys_epoll_ctl(const unsigned long *arg)
{
	int op = arg[1], fd = arg[2], r = -EBADF;
	struct epoll_event event = {0};
	struct file *epoll, *f;

	if (op != EPOLL_CTL_DEL && copy_in(&event, arg[3], sizeof(event)) < 0)
		return -EFAULT;
	epoll = fd_get(current->proc->fds, arg[0]);
	f = fd_get(current->proc->fds, fd);
	if (epoll != NULL && f != NULL)
		r = control(epoll, op, f, fd, &event);
	if (f != NULL)
		file_put(f);
	if (epoll != NULL)
		file_put(epoll);
	return r;
}

/* Copy n reports out to an array; the number that the program gets. What it
 * doesn't get is reported by the next call. */
static long
tell(struct vnode *epoll, uintptr_t user, const struct epoll_report *report,
     int n)
{
	for (int i = 0; i < n; i++, user += sizeof(struct epoll_event)) {
		if (copy_out(user, &report[i].event, sizeof(report[i].event)) ==
		    0)
			continue;
		for (int k = i; k < n; k++)
			epoll_give_back(epoll, &report[k]);
		return i > 0 ? i : -EFAULT;
	}
	return n;
}

/* As scan_until in select.c does it. */
static long
collect_until(struct vnode *epoll, uintptr_t user, int max,
	      unsigned long deadline)
{
	struct epoll_report report[REPORTS] = {0};
	int r = 0;

	if (max > REPORTS)
		max = REPORTS;
	for (;;) {
		unsigned long seen = poll_changes();
		int n = epoll_collect(epoll, report, max);

		if (n > 0 || deadline == 0 || r == -ETIMEDOUT)
			return tell(epoll, user, report, n);
		if (r < 0)
			return -EINTR;
		r = poll_wait(seen, deadline);
	}
}

/* epoll_pwait(epoll, events, n, ms, mask or 0, its size): how many events there
 * are, at most n; ms < 0 waits for ever. */
long
sys_epoll_pwait(const unsigned long *arg)
{
	int max = arg[2], ms = arg[3];
	unsigned long deadline = WAIT_FOREVER;
	struct file *f;
	long r;

	if (max <= 0 || (unsigned int)max > MAX_COUNT)
		return -EINVAL;
	if (ms == 0)
		deadline = 0;
	else if (ms > 0)
		deadline = rdtime() +
			   (ms * machine.timebase + MS_PER_S - 1) / MS_PER_S;
	f = fd_get(current->proc->fds, arg[0]);
	if (f == NULL)
		return -EBADF;
	r = epoll_is(f) ? select_mask_begin(arg[4], arg[5]) : -EINVAL;
	if (r == 0)
		r = select_mask_end(
		    arg[4], collect_until(f->vnode, arg[1], max, deadline));
	file_put(f);
	return r;
}
