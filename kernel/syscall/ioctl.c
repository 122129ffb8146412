/* ioctl: what can be asked of any open file. All else is up to its vnode. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

/* FIONBIO: the int at arg says whether calls on f may wait. */
static int
set_nonblock(struct file *f, uintptr_t arg)
{
	int on;

	if (copy_in(&on, arg, sizeof(on)) < 0)
		return -EFAULT;
	if (on)
		f->flags |= O_NONBLOCK;
	else
		f->flags &= ~O_NONBLOCK;
	return 0;
}

/* FIONREAD of a regular file: what there is from its offset on. */
static int
get_rest(struct file *f, uintptr_t arg)
{
	struct stat st;
	off_t rest;
	int r = vnode_stat(f->vnode, &st), count;

	if (r < 0)
		return r;
	rest = st.st_size - __atomic_load_n(&f->offset, __ATOMIC_RELAXED);
	count = rest < INT_MIN ? INT_MIN : rest > INT_MAX ? INT_MAX : rest;
	return copy_out(arg, &count, sizeof(count));
}

/* ioctl(fd, cmd, arg) */
long
sys_ioctl(const unsigned long *arg)
{
	struct fdtable *t = current->proc->fds;
	unsigned int cmd = arg[1];
	int fd = arg[0];
	struct file *f = fd_get(t, fd);
	long r = 0;

	if (f == NULL)
		return -EBADF;
	if (cmd == FIOCLEX || cmd == FIONCLEX)
		fd_set_cloexec(t, fd, cmd == FIOCLEX);
	else if (cmd == FIONBIO)
		r = set_nonblock(f, arg[2]);
	else if (cmd == FIONREAD && f->vnode->type == S_IFREG)
		r = get_rest(f, arg[2]);
	else if (f->vnode->ops->ioctl != NULL)
		r = f->vnode->ops->ioctl(f->vnode, f, cmd, arg[2]);
	else
		r = -ENOTTY;
	file_put(f);
	return r;
}
