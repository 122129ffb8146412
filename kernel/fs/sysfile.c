/* System calls on open files, by their descriptors. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "../proc/proc.h"
#include "../syscall.h"
#include "vfs.h"

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
	return fd_close(arg[0]);
}

long
sys_read(const unsigned long *arg)
{
	struct uio u = {.base = arg[1], .left = arg[2]};
	struct file *f = fd_get(arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	if (!readable(f))
		r = -EBADF;
	else if (u.left > LONG_MAX)
		r = -EINVAL;
	else
		r = file_read(f, &u);
	file_put(f);
	return r;
}

long
sys_write(const unsigned long *arg)
{
	struct uio u = {.base = arg[1], .left = arg[2]};
	struct file *f = fd_get(arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	if (!writable(f))
		r = -EBADF;
	else if (u.left > LONG_MAX)
		r = -EINVAL;
	else
		r = file_write(f, &u);
	file_put(f);
	return r;
}

/* pread and pwrite: may they be done with f? */
static int
check_positioned(const struct file *f, const struct uio *u)
{
	if (f->vnode->stream)
		return -ESPIPE;
	if (f->vnode->type == S_IFDIR)
		return -EISDIR;
	return u->offset < 0 || u->left > LONG_MAX ? -EINVAL : 0;
}

long
sys_pread(const unsigned long *arg)
{
	struct uio u = {.base = arg[1], .left = arg[2], .offset = arg[3]};
	struct file *f = fd_get(arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	r = readable(f) ? check_positioned(f, &u) : -EBADF;
	if (r == 0)
		r = f->vnode->ops->read(f->vnode, f, &u);
	file_put(f);
	return r;
}

long
sys_pwrite(const unsigned long *arg)
{
	struct uio u = {.base = arg[1], .left = arg[2], .offset = arg[3]};
	struct file *f = fd_get(arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	r = writable(f) ? check_positioned(f, &u) : -EBADF;
	if (r == 0)
		r = f->vnode->ops->write(f->vnode, f, &u);
	file_put(f);
	return r;
}

/* Where lseek counts from; or -EINVAL. f's lock is held. */
static off_t
seek_base(struct file *f, int whence)
{
	struct stat st;
	int r;

	switch (whence) {
	case SEEK_SET:
		return 0;
	case SEEK_CUR:
		return f->offset;
	case SEEK_END:
		r = vnode_stat(f->vnode, &st);
		return r < 0 ? r : st.st_size;
	default:
		return -EINVAL;
	}
}

static off_t
file_seek(struct file *f, off_t offset, int whence)
{
	off_t to;

	if (f->vnode->stream)
		return -ESPIPE;
	mutex_lock(&f->lock);
	to = seek_base(f, whence);
	if (to >= 0) {
		if (__builtin_add_overflow(to, offset, &to))
			to = -EOVERFLOW;
		else if (to < 0)
			to = -EINVAL;
		else
			f->offset = to;
	}
	mutex_unlock(&f->lock);
	return to;
}

long
sys_lseek(const unsigned long *arg)
{
	struct file *f = fd_get(arg[0]);
	long r;

	if (f == NULL)
		return -EBADF;
	r = file_seek(f, arg[1], arg[2]);
	file_put(f);
	return r;
}

/* The lowest free descriptor >= min for f, whose reference goes there. */
static long
install(struct file *f, int min, bool cloexec)
{
	int fd = fd_install(f, min, cloexec);

	if (fd < 0)
		file_put(f);
	return fd;
}

long
sys_dup(const unsigned long *arg)
{
	struct file *f = fd_get(arg[0]);

	return f != NULL ? install(f, 0, false) : -EBADF;
}

long
sys_dup2(const unsigned long *arg)
{
	int old = arg[0], new = arg[1];
	struct file *f = fd_get(old);

	if (f == NULL)
		return -EBADF;
	if (new < 0 || new >= FD_MAX || new == old) {
		file_put(f);
		return new == old ? new : -EBADF;
	}
	return fd_dup2(f, new);
}

#define SETTABLE (O_APPEND | O_NONBLOCK)

static void
set_flags(struct file *f, int flags)
{
	int old = f->flags;

	while (!__atomic_compare_exchange_n(
	    &f->flags, &old, (old & ~SETTABLE) | (flags & SETTABLE), false,
	    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* fcntl's commands that give no new descriptor. */
static int
control(struct file *f, int fd, int cmd, int arg)
{
	switch (cmd) {
	case F_GETFD:
		return fd_cloexec(fd) ? FD_CLOEXEC : 0;
	case F_SETFD:
		fd_set_cloexec(fd, arg & FD_CLOEXEC);
		return 0;
	case F_GETFL:
		return f->flags;
	case F_SETFL:
		set_flags(f, arg);
		return 0;
	default:
		return -EINVAL;
	}
}

long
sys_fcntl(const unsigned long *arg)
{
	int fd = arg[0], cmd = arg[1], value = arg[2];
	struct file *f = fd_get(fd);
	int r;

	if (f == NULL)
		return -EBADF;
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) {
		if (value >= 0 && value < FD_MAX)
			return install(f, value, cmd == F_DUPFD_CLOEXEC);
		r = -EINVAL;
	} else {
		r = control(f, fd, cmd, value);
	}
	file_put(f);
	return r;
}

long
sys_ioctl(const unsigned long *arg)
{
	struct file *f = fd_get(arg[0]);
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
	struct file *f = fd_get(arg[0]);
	struct stat st;
	int r;

	if (f == NULL)
		return -EBADF;
	r = vnode_stat(f->vnode, &st);
	file_put(f);
	return r < 0 ? r : copy_out(arg[1], &st, sizeof st);
}

/* Whole entries to the user's buffer, from the file's offset on; how many
 * bytes they take. f's lock is held. */
static ssize_t
read_entries(struct file *f, uintptr_t buf, size_t size)
{
	struct dirent de = {.d_ino = 0};
	size_t done = 0;

	while (size - done >= sizeof de) {
		off_t cookie = f->offset;
		int r = vfs_readdir(f->vnode, &cookie, &de);

		if (r > 0)
			r = copy_out(buf + done, &de, sizeof de) < 0 ? -EFAULT
								     : 1;
		if (r <= 0)
			return done > 0 ? (ssize_t)done : r;
		f->offset = cookie;
		done += sizeof de;
	}
	return done;
}

long
sys_getdents(const unsigned long *arg)
{
	struct file *f = fd_get(arg[0]);
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
	struct file *f = fd_get(arg[0]);
	long r = -EINVAL;

	if (f == NULL)
		return -EBADF;
	if (writable(f))
		r = vfs_truncate(f->vnode, arg[1]);
	file_put(f);
	return r;
}

/* Descriptors for both ends of a pipe; takes over the files on success. */
static int
install_both(struct file *end[2], int fd[2])
{
	fd[0] = fd_install(end[0], 0, false);
	if (fd[0] < 0)
		return fd[0];
	fd[1] = fd_install(end[1], 0, false);
	if (fd[1] < 0) {
		file_ref(end[0]);
		fd_close(fd[0]);
		return fd[1];
	}
	return 0;
}

long
sys_pipe(const unsigned long *arg)
{
	struct file *end[2];
	int fd[2];
	int r = pipe_create(end);

	if (r < 0)
		return r;
	r = install_both(end, fd);
	if (r < 0) {
		file_put(end[0]);
		file_put(end[1]);
		return r;
	}
	if (copy_out(arg[0], fd, sizeof fd) < 0) {
		fd_close(fd[0]);
		fd_close(fd[1]);
		return -EFAULT;
	}
	return 0;
}
