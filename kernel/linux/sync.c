/* Writing files back, and hints about how they will be used. Nothing is kept
 * back but by the server of /host, so there is little to do. */
#include <errno.h>
#include <fcntl.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "proc/proc.h"
#include "sched/thread.h"
#include "syscall/transfer.h"

/* A vnode without this operation has nothing to write back: that is success. */
long
sys_fsync(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r = 0;

	if (f == NULL)
		return -EBADF;
	if (f->vnode->type != S_IFREG && f->vnode->type != S_IFDIR)
		r = -EINVAL;
	else if (f->vnode->ops->fsync != NULL)
		r = f->vnode->ops->fsync(f->vnode, f);
	file_put(f);
	return r;
}

/* The data aren't synced apart. */
long
sys_fdatasync(const unsigned long *arg)
{
	return sys_fsync(arg);
}

/* Open files of /host that were written, but not synced, are left out here and
 * in syncfs: nobody keeps a list of them. */
long
sys_sync(const unsigned long *)
{
	return 0;
}

/* Is fd open? Then drop the reference again; else EBADF. */
static long
check_fd(int fd)
{
	struct file *f = fd_get(current->proc->fds, fd);

	if (f == NULL)
		return -EBADF;
	file_put(f);
	return 0;
}

long
sys_syncfs(const unsigned long *arg)
{
	return check_fd(arg[0]);
}

/* fadvise64(fd, offset, size, advice): no advice changes anything. */
long
sys_fadvise64(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r = 0;

	if (f == NULL)
		return -EBADF;
	if (f->vnode->type == S_IFIFO)
		r = -ESPIPE;
	else if ((long)arg[2] < 0 || (unsigned int)arg[3] > POSIX_FADV_NOREUSE)
		r = -EINVAL;
	file_put(f);
	return r;
}

/* readahead(fd, offset, size) */
long
sys_readahead(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r = 0;

	if (f == NULL)
		return -EBADF;
	if (!transfer_readable(f))
		r = -EBADF;
	else if (f->vnode->type != S_IFREG)
		r = -EINVAL;
	file_put(f);
	return r;
}

/* What can be said of a range without knowing its file. */
static int
check_range(const struct file *f, off_t offset, off_t size)
{
	off_t end;

	if (offset < 0 || size <= 0)
		return -EINVAL;
	if (!transfer_writable(f))
		return -EBADF;
	if (f->vnode->type == S_IFIFO)
		return -ESPIPE;
	if (f->vnode->type != S_IFREG)
		return -ENODEV;
	return __builtin_add_overflow(offset, size, &end) ? -EFBIG : 0;
}

/*
 * fallocate(fd, mode, offset, size): memory isn't set aside, so a write may
 * still find none. A range within the file, or FALLOC_FL_KEEP_SIZE, is success;
 * a file doesn't grow by this (EOPNOTSUPP: C libraries write zeroes then).
 */
long
sys_fallocate(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	int mode = arg[1], r;
	struct stat st;

	if (f == NULL)
		return -EBADF;
	r = mode & ~FALLOC_FL_KEEP_SIZE ? -EOPNOTSUPP
					: check_range(f, arg[2], arg[3]);
	if (r == 0 && mode == 0) {
		r = vnode_stat(f->vnode, &st);
		if (r == 0 && (off_t)(arg[2] + arg[3]) > st.st_size)
			r = -EOPNOTSUPP;
	}
	file_put(f);
	return r;
}
