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
#include <stddef.h>
#include <string.h>
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

#include "flock.h"
#include "transfer.h"

long
sys_close(const unsigned long *arg)
{
	return fd_close(current->proc->fds, arg[0], NULL);
}

/*
 * On a regular file f->lock is held throughout, so two writes through the same
 * open file never overwrite each other. But an operation on a device may block
 * for long, and waiting for a mutex can't be interrupted by a signal. So there
 * no lock is held, and the offset is increased afterwards, atomically.
 */
ssize_t
file_at_offset(struct file *f, struct uio *u, transfer_op op)
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

/* The common part of read, write, pread and pwrite, inlined into each. */
static inline __attribute__((always_inline)) long
transfer(const unsigned long *arg, bool write, bool positioned)
{
	struct uio u = {.base = arg[1], .left = arg[2]};
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	if (positioned)
		u.offset = arg[3];
	r = transfer_file(f, &u, write, positioned);
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
sys_pread64(const unsigned long *arg)
{
	return transfer(arg, false, true);
}

long
sys_pwrite64(const unsigned long *arg)
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

/* fd_dup takes over the reference to f, and closes what `new' stood for. */
long
sys_dup3(const unsigned long *arg)
{
	int old = arg[0], new = arg[1], flags = arg[2];
	struct file *f;

	if (new == old || flags & ~O_CLOEXEC)
		return -EINVAL;
	f = fd_get(current->proc->fds, old);
	if (f == NULL)
		return -EBADF;
	if (new < 0 || new >= FD_MAX) {
		file_put(f);
		return -EBADF;
	}
	return fd_dup(current->proc->fds, f, new, flags & O_CLOEXEC);
}

/* close_range(first, last, flags) */
long
sys_close_range(const unsigned long *arg)
{
	unsigned int first = arg[0], last = arg[1], flags = arg[2];

	if (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) ||
	    first > last)
		return -EINVAL;
	fd_close_range(current->proc->fds, first, last,
		       flags & CLOSE_RANGE_CLOEXEC);
	return 0;
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

	if (f == NULL)
		return -EBADF;
	if (flock_is_command(cmd)) {
		r = flock_fcntl(f, fd, cmd, arg[2]);
		file_put(f);
		return r;
	}
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		if (value >= 0 && value < FD_MAX)
			return fd_install(current->proc->fds, f, value,
					  cmd == F_DUPFD_CLOEXEC);
		r = -EINVAL;
		break;
	case F_GETFD:
		r = fd_cloexec(current->proc->fds, fd) ? FD_CLOEXEC : 0;
		break;
	case F_SETFD:
		fd_set_cloexec(current->proc->fds, fd, value & FD_CLOEXEC);
		break;
	case F_GETFL:
		r = f->flags;
		break;
	case F_SETFL:
		set_flags(f, value);
		break;
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
		r = pipe_room(f, cmd == F_SETPIPE_SZ ? (unsigned int)value : 0);
		break;
	default:
		r = -EINVAL;
	}
	file_put(f);
	return r;
}

/* Round up to what begins an entry in memory. */
static size_t
entry_size(const struct dirent *de)
{
	size_t n = offsetof(struct dirent, d_name) + strlen(de->d_name) + 1;

	return (n + 7) & ~(size_t)7;
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
	for (;;) {
		struct dirent de = {.d_name = ""}; /* all of it is zero */
		off_t cookie = f->offset;
		int r = cookie < DIR_COOKIE
			    ? vfs_dots(v, &cookie, &de)
			    : v->ops->readdir(v, f, &cookie, &de);

		de.d_off = cookie;
		de.d_reclen = entry_size(&de);
		if (r > 0 && de.d_reclen > size - done)
			r = -EINVAL;
		if (r > 0 && copy_out(buf + done, &de, de.d_reclen) < 0)
			r = -EFAULT;
		if (r <= 0)
			return done > 0 ? (ssize_t)done : r;
		f->offset = cookie;
		done += de.d_reclen;
	}
}

long
sys_getdents64(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	if (f->vnode->type != S_IFDIR) {
		r = -ENOTDIR;
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
	if (transfer_writable(f))
		r = vfs_truncate(f->vnode, arg[1]);
	file_put(f);
	return r;
}

/* If one of the steps fails, closing the descriptors frees the pipe. fd_install
 * has dropped an end for which there was no descriptor. */
long
sys_pipe2(const unsigned long *arg)
{
	int flags = arg[1], fd[2], r;
	bool cloexec = flags & O_CLOEXEC;
	struct file *end[2];

	if (flags & ~(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	r = pipe_create(end, kept_get());
	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		set_flags(end[i], flags);
		fd[i] = fd_install(current->proc->fds, end[i], 0, cloexec);
	}
	if (fd[0] < 0 || fd[1] < 0)
		r = fd[0] < 0 ? fd[0] : fd[1];
	else
		r = copy_out(arg[0], fd, sizeof(fd));
	if (r < 0) { /* what is no descriptor isn't closed */
		fd_close(current->proc->fds, fd[0], end[0]);
		fd_close(current->proc->fds, fd[1], end[1]);
	}
	return r;
}
