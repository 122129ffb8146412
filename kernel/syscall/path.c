/*
 * System calls that take a path. The path is copied to the kernel stack, which
 * has room for two of the longest (1 KiB each), as rename needs. What it leads
 * to is the business of fs/vfs.c and fs/walk.c.
 */
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

/* Find what the path at address user leads to: *out, with a reference. */
static int
lookup_user(uintptr_t user, struct vnode **out)
{
	char path[PATH_MAX_LEN];
	ssize_t r = copy_in_str(path, user, sizeof(path));

	return r < 0 ? r : vfs_lookup(path, out);
}

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
long
sys_open(const unsigned long *arg)
{
	char path[PATH_MAX_LEN];
	int flags = arg[1], fd, r;
	struct file *f;

	r = copy_in_str(path, arg[0], sizeof(path));
	if (r < 0)
		return r;
	f = file_alloc();
	if (f == NULL)
		return -ENOMEM;
	file_ref(f);
	fd = fd_install(current->proc->fds, f, 0, flags & O_CLOEXEC);
	r = fd < 0 ? fd : vfs_open(f, path, flags, arg[2]);
	if (r < 0 && fd >= 0)
		fd_close(current->proc->fds, fd, f);
	file_put(f);
	return r < 0 ? r : fd;
}

long
sys_stat(const unsigned long *arg)
{
	struct vnode *v;
	struct stat st;
	int r = lookup_user(arg[0], &v);

	if (r < 0)
		return r;
	r = vnode_stat(v, &st);
	vnode_put(v);
	return r < 0 ? r : copy_out(arg[1], &st, sizeof(st));
}

/* Call a function of vfs.c with a path from user memory. For rmdir and unlink
 * `mode' is the type of what is to be removed. */
static long
call_with_path(int (*call)(const char *, mode_t), uintptr_t user, mode_t mode)
{
	char path[PATH_MAX_LEN];
	ssize_t r = copy_in_str(path, user, sizeof(path));

	return r < 0 ? r : call(path, mode);
}

long
sys_mkdir(const unsigned long *arg)
{
	return call_with_path(vfs_mkdir, arg[0], arg[1]);
}

long
sys_rmdir(const unsigned long *arg)
{
	return call_with_path(vfs_remove, arg[0], S_IFDIR);
}

long
sys_unlink(const unsigned long *arg)
{
	return call_with_path(vfs_remove, arg[0], S_IFREG);
}

long
sys_rename(const unsigned long *arg)
{
	char old[PATH_MAX_LEN], new[PATH_MAX_LEN];
	ssize_t r = copy_in_str(old, arg[0], sizeof(old));

	if (r >= 0)
		r = copy_in_str(new, arg[1], sizeof(new));
	return r < 0 ? r : vfs_rename(old, new);
}

/* The directory is exchanged under p->lock, since another thread of the process
 * may be about to take a reference to the old one. */
long
sys_chdir(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct vnode *v, *old;
	int r = lookup_user(arg[0], &v);

	if (r < 0)
		return r;
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
	r = vfs_lookup(".", &dir);
	if (r < 0)
		return r;
	n = vfs_path(dir, path);
	vnode_put(dir);
	if (n < 0)
		return n;
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
long
sys_access(const unsigned long *arg)
{
	int mode = arg[1], r;
	struct vnode *v;
	struct stat st;

	if (mode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	r = lookup_user(arg[0], &v);
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

/* Change the attributes of what a path leads to. */
static long
change(uintptr_t user, const struct attr *a)
{
	struct vnode *v;
	int r = lookup_user(user, &v);

	if (r < 0)
		return r;
	r = v->ops->setattr != NULL ? v->ops->setattr(v, a) : -EROFS;
	vnode_put(v);
	return r;
}

long
sys_chmod(const unsigned long *arg)
{
	const struct attr a = {
	    .mode = arg[1] & 07777, .atime = OMIT, .mtime = OMIT};

	return change(arg[0], &a);
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

/* utimens(path, times): access and modification time. Without times, now. */
long
sys_utimens(const unsigned long *arg)
{
	struct timespec t[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	struct attr a = {.mode = OMIT};

	if (arg[1] != 0 && copy_in(t, arg[1], sizeof(t)) < 0)
		return -EFAULT;
	a.atime = time_in_ns(&t[0]);
	a.mtime = time_in_ns(&t[1]);
	if (a.atime == -EINVAL || a.mtime == -EINVAL)
		return -EINVAL;
	return change(arg[0], &a);
}
