/*
 * System calls on open files, which are named by descriptors.
 *
 * Each call looks its file up with fd_get, which takes a reference, and drops
 * the reference at the end (file_put). So another thread may close the
 * descriptor meanwhile. The operation itself is that of the file's vnode; this
 * file only checks what holds for all kinds of vnodes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/pipe.h"
#include "fs/uio.h"
#include "fs/vfs.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/memory.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

static bool
readable(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

static bool
writable(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

long
sys_close(const unsigned long *arg)
{
	return fd_close(current->proc->fds, arg[0], NULL);
}

/* The operation read, or write, of a vnode. */
typedef ssize_t (*transfer_op)(struct vnode *, struct file *, struct uio *);

/*
 * Call op at the file's offset, and advance the offset by what was transferred.
 *
 * On a regular file f->lock is held throughout, so two writes through the same
 * open file never overwrite each other. But an operation on a device may block
 * for long, and waiting for a mutex can't be interrupted by a signal. So there
 * no lock is held, and the offset is increased afterwards, atomically.
 */
static ssize_t
at_offset(struct file *f, struct uio *u, transfer_op op)
{
	struct vnode *v = f->vnode;
	ssize_t n;

	if (v->type == S_IFREG) {
		mutex_lock(&f->lock);
		u->offset = f->offset;
		n = op(v, f, u);
		if (n > 0)
			f->offset = u->offset;
		mutex_unlock(&f->lock);
		return n;
	}
	u->offset = __atomic_load_n(&f->offset, __ATOMIC_RELAXED);
	if (u->offset < 0) /* the sum of many came past the largest */
		return -EINVAL;
	n = op(v, f, u);
	if (n > 0)
		__atomic_fetch_add(&f->offset, n, __ATOMIC_RELAXED);
	return n;
}

/*
 * The common part of read, write, pread and pwrite. If positioned, the offset
 * is the fourth argument; else it is the file's. It is inlined into each of the
 * four, where write and positioned are constants and cost no test.
 */
static inline __attribute__((always_inline)) long
transfer(const unsigned long *arg, bool write, bool positioned)
{
	struct uio u = {.base = arg[1], .left = arg[2]};
	struct file *f = fd_get(current->proc->fds, arg[0]);
	transfer_op op;
	long r;

	if (f == NULL)
		return -EBADF;
	op = write ? f->vnode->ops->write : f->vnode->ops->read;
	if (positioned)
		u.offset = arg[3];
	else
		u.append = write && f->flags & O_APPEND;
	if (!(write ? writable(f) : readable(f)))
		r = -EBADF;
	else if (positioned && f->vnode->stream)
		r = -ESPIPE;
	else if (!write && f->vnode->type == S_IFDIR)
		r = -EISDIR;
	else if (u.offset < 0 || u.left > LONG_MAX)
		r = -EINVAL;
	else if (positioned || f->vnode->stream)
		r = op(f->vnode, f, &u);
	else
		r = at_offset(f, &u, op);
	file_put(f);
	return r;
}

long
sys_read(const unsigned long *arg)
{
	return transfer(arg, false, false);
}

long
sys_write(const unsigned long *arg)
{
	return transfer(arg, true, false);
}

long
sys_pread(const unsigned long *arg)
{
	return transfer(arg, false, true);
}

long
sys_pwrite(const unsigned long *arg)
{
	return transfer(arg, true, true);
}

/* Returns the new offset, or an errno; then the offset stays as it was. Past
 * the end of the file is allowed, below 0 isn't. */
static off_t
file_seek(struct file *f, off_t offset, int whence)
{
	off_t from = 0; /* SEEK_SET, or an error */
	struct stat st;

	mutex_lock(&f->lock);
	if (whence == SEEK_CUR)
		from = f->offset;
	else if (whence == SEEK_END)
		from = vnode_stat(f->vnode, &st);
	else if (whence != SEEK_SET)
		from = -EINVAL;
	if (from == 0 && whence == SEEK_END)
		from = st.st_size;
	if (from >= 0) {
		if (__builtin_add_overflow(from, offset, &from))
			from = -EOVERFLOW;
		else if (from < 0)
			from = -EINVAL;
		else
			f->offset = from;
	}
	mutex_unlock(&f->lock);
	return from;
}

long
sys_lseek(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	r = f->vnode->stream ? -ESPIPE : file_seek(f, arg[1], arg[2]);
	file_put(f);
	return r;
}

/* The reference to f isn't dropped: fd_install takes it over. */
long
sys_dup(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);

	return f != NULL ? fd_install(current->proc->fds, f, 0, false) : -EBADF;
}

/* If both descriptors are the same, nothing changes. Otherwise fd_dup2 takes
 * over the reference to f, and closes what `new' stood for. */
long
sys_dup2(const unsigned long *arg)
{
	int old = arg[0], new = arg[1];
	struct file *f = fd_get(current->proc->fds, old);

	if (f == NULL)
		return -EBADF;
	if (new < 0 || new >= FD_MAX || new == old) {
		file_put(f);
		return new == old ? new : -EBADF;
	}
	return fd_dup2(current->proc->fds, f, new);
}

/* F_SETFL changes these two flags. The others stay as open has set them. */
static void
set_flags(struct file *f, int flags)
{
	const int settable = O_APPEND | O_NONBLOCK;

	f->flags = (f->flags & ~settable) | (flags & settable);
}

/* F_DUPFD passes the reference to f on to fd_install; all others drop it. */
long
sys_fcntl(const unsigned long *arg)
{
	int fd = arg[0], cmd = arg[1], value = arg[2], r = 0;
	struct file *f = fd_get(current->proc->fds, fd);
	bool *cloexec; /* a byte of its own, so it needs no lock */

	if (f == NULL)
		return -EBADF;
	cloexec = &current->proc->fds->cloexec[fd];
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		if (value >= 0 && value < FD_MAX)
			return fd_install(current->proc->fds, f, value,
					  cmd == F_DUPFD_CLOEXEC);
		r = -EINVAL;
		break;
	case F_GETFD:
		r = *cloexec ? FD_CLOEXEC : 0;
		break;
	case F_SETFD:
		*cloexec = value & FD_CLOEXEC;
		break;
	case F_GETFL:
		r = f->flags;
		break;
	case F_SETFL:
		set_flags(f, value);
		break;
	default:
		r = -EINVAL;
	}
	file_put(f);
	return r;
}

/* What cmd and its argument mean is up to the device. */
long
sys_ioctl(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r = -ENOTTY;

	if (f == NULL)
		return -EBADF;
	if (f->vnode->ops->ioctl != NULL)
		r = f->vnode->ops->ioctl(f->vnode, f, arg[1], arg[2]);
	file_put(f);
	return r;
}

long
sys_fstat(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	struct stat st;
	int r;

	if (f == NULL)
		return -EBADF;
	r = vnode_stat(f->vnode, &st);
	file_put(f);
	return r < 0 ? r : copy_out(arg[1], &st, sizeof(st));
}

/*
 * Copy directory entries to the user's buffer, as many as fit whole, from the
 * file's offset on, which for a directory is readdir's cookie. Returns their
 * size in bytes; 0 at the end. An error is returned only if nothing has been
 * copied: otherwise the next call meets it again. The caller must hold f->lock.
 */
static ssize_t
read_entries(struct file *f, uintptr_t buf, size_t size)
{
	struct vnode *v = f->vnode;
	size_t done = 0;

	must_hold(&f->lock);
	while (size - done >= sizeof(struct dirent)) {
		struct dirent de = {.d_name = ""}; /* all of it is zero */
		off_t cookie = f->offset;
		int r = cookie < DIR_COOKIE
			    ? vfs_dots(v, &cookie, &de)
			    : v->ops->readdir(v, f, &cookie, &de);

		if (r > 0)
			r = copy_out(buf + done, &de, sizeof(de)) < 0 ? -EFAULT
								      : 1;
		if (r <= 0)
			return done > 0 ? (ssize_t)done : r;
		f->offset = cookie;
		done += sizeof(de);
	}
	return done;
}

long
sys_getdents(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	if (f->vnode->type != S_IFDIR) {
		r = -ENOTDIR;
	} else if (arg[2] < sizeof(struct dirent)) {
		r = -EINVAL;
	} else {
		mutex_lock(&f->lock);
		r = read_entries(f, arg[1], arg[2]);
		mutex_unlock(&f->lock);
	}
	file_put(f);
	return r;
}

long
sys_ftruncate(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r = -EINVAL;

	if (f == NULL)
		return -EBADF;
	if (writable(f))
		r = vfs_truncate(f->vnode, arg[1]);
	file_put(f);
	return r;
}

/* A vnode without this operation has nothing to write back: that is success. */
long
sys_fsync(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r = 0;

	if (f == NULL)
		return -EBADF;
	if (f->vnode->ops->fsync != NULL)
		r = f->vnode->ops->fsync(f->vnode, f);
	file_put(f);
	return r;
}

/* If one of the steps fails, closing the descriptors frees the pipe. fd_install
 * has dropped an end for which there was no descriptor. */
long
sys_pipe(const unsigned long *arg)
{
	struct file *end[2];
	int fd[2];
	int r = pipe_create(end, kept_get());

	if (r < 0)
		return r;
	fd[0] = fd_install(current->proc->fds, end[0], 0, false);
	fd[1] = fd_install(current->proc->fds, end[1], 0, false);
	if (fd[0] < 0 || fd[1] < 0)
		r = -EMFILE;
	else
		r = copy_out(arg[0], fd, sizeof(fd));
	if (r < 0) { /* what is no descriptor isn't closed */
		fd_close(current->proc->fds, fd[0], end[0]);
		fd_close(current->proc->fds, fd[1], end[1]);
	}
	return r;
}
