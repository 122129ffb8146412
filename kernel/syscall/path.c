/* System calls that take a path. where.h copies it in; what it leads to is the
 * business of fs/vfs.c and fs/walk.c. link.c has those on links. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vfs.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"

#include "where.h"

/*
 * The descriptor is installed first, while the file isn't open yet. So if there
 * is none left, that is known before a file has been created or truncated,
 * which can't be undone.
 *
 * If truncating fails, the file is open already. Then another thread may have
 * closed the descriptor, and the same number may stand for another file. So
 * fd_close is told which file is meant, and this function keeps a reference of
 * its own to it.
 */
static long
open_where(const struct where *w, int flags, mode_t mode)
{
	struct file *f = file_alloc();
	int fd, r;

	if (f == NULL)
		return -ENOMEM;
	file_ref(f);
	fd = fd_install(current->proc->fds, f, 0, flags & O_CLOEXEC);
	r = fd < 0 ? fd : vfs_open(f, w->at, w->path, flags, mode);
	if (r < 0 && fd >= 0)
		fd_close(current->proc->fds, fd, f);
	file_put(f);
	return r < 0 ? r : fd;
}

long
sys_openat(const unsigned long *arg)
{
	struct where w;
	long r = where_get(&w, arg[0], arg[1]);
	int flags = arg[2];

	if (flags & O_PATH) /* Linux then looks at no flags but these */
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	if (r == 0)
		r = open_where(&w, flags, arg[3]);
	where_put(&w);
	return r;
}

long
sys_mkdirat(const unsigned long *arg)
{
	struct where w;
	int r = where_get(&w, arg[0], arg[1]);

	if (r == 0)
		r = vfs_mkdir(w.at, w.path, arg[2]);
	where_put(&w);
	return r;
}

long
sys_unlinkat(const unsigned long *arg)
{
	int flags = arg[2], r;
	struct where w;

	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	r = where_get(&w, arg[0], arg[1]);
	if (r == 0)
		r = vfs_remove(w.at, w.path,
			       flags & AT_REMOVEDIR ? S_IFDIR : S_IFREG);
	where_put(&w);
	return r;
}

/* renameat2(from, old, to, new, flags): all of it but RENAME_WHITEOUT, which is
 * for file systems in layers. */
long
sys_renameat2(const unsigned long *arg)
{
	unsigned int flags = arg[4];
	struct where old, new;
	int r;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	r = where_get(&old, arg[0], arg[1]);
	if (r == 0) {
		r = where_get(&new, arg[2], arg[3]);
		if (r == 0)
			r = vfs_rename(old.at, old.path, new.at, new.path,
				       flags);
		where_put(&new);
	}
	where_put(&old);
	return r;
}

/* The directory is exchanged under p->lock, since another thread of the process
 * may be about to take a reference to the old one. That to v becomes p's. */
static long
change_directory(struct vnode *v)
{
	struct proc *p = current->proc;
	struct vnode *old;

	if (v->type != S_IFDIR) {
		vnode_put(v);
		return -ENOTDIR;
	}
	spin_lock(&p->lock);
	old = p->cwd;
	p->cwd = v;
	spin_unlock(&p->lock);
	vnode_put(old); /* without the lock: its file system may sleep */
	return 0;
}

long
sys_chdir(const unsigned long *arg)
{
	struct vnode *v;
	int r = where_lookup(AT_FDCWD, arg[0], 0, &v);

	return r < 0 ? r : change_directory(v);
}

long
sys_fchdir(const unsigned long *arg)
{
	struct vnode *v;
	int r = where_fd(arg[0], &v);

	return r < 0 ? r : change_directory(v);
}

/* Returns the length of the path, with the NUL. The path is found anew each
 * time, from the directory up to the root: a rename may have changed it. */
long
sys_getcwd(const unsigned long *arg)
{
	char path[PATH_MAX_LEN];
	struct vnode *dir;
	ssize_t n;
	int r;

	if (arg[1] == 0)
		return -EINVAL;
	r = vfs_lookup(NULL, ".", &dir);
	if (r < 0)
		return r;
	n = vfs_path(dir, path);
	vnode_put(dir);
	if (n < 0) /* a larger buffer wouldn't help */
		return n == -ERANGE ? -ENAMETOOLONG : n;
	n++;
	if ((size_t)n > arg[1])
		return -ERANGE;
	return copy_out(arg[0], path, n) < 0 ? -EFAULT : n;
}

/* All processes are root's, so permissions don't matter, with two exceptions:
 * those of devices, and a file that has no execute bit at all. */
static int
check_access(const struct stat *st, int mode)
{
	if (mode & X_OK && !S_ISDIR(st->st_mode) && !(st->st_mode & 0111))
		return -EACCES;
	if (!S_ISCHR(st->st_mode))
		return 0;
	if (mode & R_OK && !(st->st_mode & 0444))
		return -EACCES;
	return mode & W_OK && !(st->st_mode & 0222) ? -EACCES : 0;
}

/* W_OK also fails for a file that a program is executed from: it couldn't be
 * opened for writing. */
static long
access_path(const unsigned long *arg, int flags)
{
	int mode = arg[2], r;
	struct vnode *v;
	struct stat st;

	if (mode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	r = where_lookup(arg[0], arg[1], flags, &v);
	if (r < 0)
		return r;
	r = vnode_stat(v, &st);
	if (r == 0)
		r = check_access(&st, mode);
	if (r == 0 && mode & W_OK &&
	    __atomic_load_n(&v->texts, __ATOMIC_RELAXED) != 0)
		r = -ETXTBSY;
	vnode_put(v);
	return r;
}

long
sys_faccessat(const unsigned long *arg)
{
	return access_path(arg, 0);
}

/* faccessat2(dir, path, mode, flags): with AT_EACCESS nothing changes, as there
 * is one user. */
long
sys_faccessat2(const unsigned long *arg)
{
	int flags = arg[3];

	if (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	return access_path(arg, flags);
}

/* A file is cut, or made longer by zeroes. */
long
sys_truncate(const unsigned long *arg)
{
	struct vnode *v;
	int r;

	if ((long)arg[1] < 0)
		return -EINVAL;
	r = where_lookup(AT_FDCWD, arg[0], 0, &v);
	if (r < 0)
		return r;
	if (v->type == S_IFDIR)
		r = -EISDIR;
	else
		r = v->type == S_IFREG ? vfs_truncate(v, arg[1]) : -EINVAL;
	vnode_put(v);
	return r;
}

/* Change the attributes of v, and drop the reference to it. */
static long
change(struct vnode *v, const struct attr *a)
{
	int r = v->ops->setattr != NULL ? v->ops->setattr(v, a) : -EROFS;

	vnode_put(v);
	return r;
}

/* Whatever is found, r is 0 and v a reference to it; or r says why not. */
static long
change_mode(int r, struct vnode *v, mode_t mode)
{
	struct attr a = ATTR_NONE;

	a.mode = mode & 07777;
	return r < 0 ? r : change(v, &a);
}

long
sys_fchmodat(const unsigned long *arg)
{
	struct vnode *v = NULL;
	int r = where_lookup(arg[0], arg[1], 0, &v);

	return change_mode(r, v, arg[2]);
}

long
sys_fchmod(const unsigned long *arg)
{
	struct vnode *v = NULL;
	int r = where_fd(arg[0], &v);

	return change_mode(r, v, arg[1]);
}

/* The same with the owner. Any number is one; -1 leaves it as it is. */
static long
change_owner(int r, struct vnode *v, int uid, int gid)
{
	struct attr a = ATTR_NONE;

	a.uid = uid;
	a.gid = gid;
	return r < 0 ? r : change(v, &a);
}

/* fchownat(dir, path, uid, gid, flags) */
long
sys_fchownat(const unsigned long *arg)
{
	int flags = arg[4], r;
	struct vnode *v = NULL;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	r = where_lookup(arg[0], arg[1], flags, &v);
	return change_owner(r, v, arg[2], arg[3]);
}

long
sys_fchown(const unsigned long *arg)
{
	struct vnode *v = NULL;
	int r = where_fd(arg[0], &v);

	return change_owner(r, v, arg[1], arg[2]);
}

/* Returns ns since 1970, OMIT, or -EINVAL. (Times before 1970 are refused, so
 * the three differ.) */
static int64_t
time_in_ns(const struct timespec *t)
{
	if (t->tv_nsec == UTIME_NOW)
		return time_realtime_ns();
	if (t->tv_nsec == UTIME_OMIT)
		return OMIT;
	if (t->tv_nsec < 0 || t->tv_nsec >= NS_PER_SEC || t->tv_sec < 0 ||
	    t->tv_sec >= INT64_MAX / NS_PER_SEC)
		return -EINVAL;
	return t->tv_sec * NS_PER_SEC + t->tv_nsec;
}

/* utimensat(dir, path, times, flags): access and modification time; without
 * times, now. Without a path it is about the descriptor's own file. */
long
sys_utimensat(const unsigned long *arg)
{
	struct timespec t[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	struct attr a = ATTR_NONE;
	int flags = arg[3], r;
	struct vnode *v;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (arg[2] != 0 && copy_in(t, arg[2], sizeof(t)) < 0)
		return -EFAULT;
	a.atime = time_in_ns(&t[0]);
	a.mtime = time_in_ns(&t[1]);
	if (a.atime == -EINVAL || a.mtime == -EINVAL)
		return -EINVAL;
	if (arg[1] == 0 && (int)arg[0] != AT_FDCWD)
		r = where_file(arg[0], &v);
	else
		r = where_lookup(arg[0], arg[1], flags, &v);
	return r < 0 ? r : change(v, &a);
}
