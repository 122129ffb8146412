/* System calls on paths. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "../proc/proc.h"
#include "../syscall.h"
#include "vfs.h"

#define NS_PER_S 1000000000L

/*
 * A path of the caller's. Most are short and lie on the stack; a kernel stack
 * is no place for the longest there can be, though.
 */
struct path {
	char *str;
	char small[128];
};

/* Fetch the path at address user: 0, and path_free is due; or -errno. */
static int
path_get(struct path *p, uintptr_t user)
{
	ssize_t r = copy_in_str(p->small, user, sizeof p->small);

	p->str = p->small;
	if (r != -ENAMETOOLONG)
		return r < 0 ? r : 0;
	p->str = kmalloc(PATH_MAX_LEN);
	if (p->str == NULL)
		return -ENOMEM;
	r = copy_in_str(p->str, user, PATH_MAX_LEN);
	if (r < 0)
		kfree(p->str);
	return r < 0 ? r : 0;
}

static void
path_free(struct path *p)
{
	if (p->str != p->small)
		kfree(p->str);
}

/* What the path at address user leads to, referenced. */
static int
lookup_user(uintptr_t user, struct vnode **out)
{
	struct path p;
	int r = path_get(&p, user);

	if (r < 0)
		return r;
	r = vfs_lookup(p.str, out);
	path_free(&p);
	return r;
}

long
sys_open(const unsigned long *arg)
{
	int flags = arg[1], fd, r;
	struct file *f;
	struct path p;

	r = path_get(&p, arg[0]);
	if (r < 0)
		return r;
	fd = fd_reserve(0, flags & O_CLOEXEC);
	if (fd >= 0) {
		r = vfs_open(p.str, flags, arg[2], &f);
		if (r == 0) {
			fd_bind(fd, f);
		} else {
			fd_release(fd);
			fd = r;
		}
	}
	path_free(&p);
	return fd;
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
	return r < 0 ? r : copy_out(arg[1], &st, sizeof st);
}

long
sys_mkdir(const unsigned long *arg)
{
	struct path p;
	int r = path_get(&p, arg[0]);

	if (r < 0)
		return r;
	r = vfs_mkdir(p.str, arg[1]);
	path_free(&p);
	return r;
}

static long
call_with_path(int (*call)(const char *), uintptr_t user)
{
	struct path p;
	int r = path_get(&p, user);

	if (r < 0)
		return r;
	r = call(p.str);
	path_free(&p);
	return r;
}

long
sys_rmdir(const unsigned long *arg)
{
	return call_with_path(vfs_rmdir, arg[0]);
}

long
sys_unlink(const unsigned long *arg)
{
	return call_with_path(vfs_unlink, arg[0]);
}

long
sys_rename(const unsigned long *arg)
{
	struct path old, new;
	int r = path_get(&old, arg[0]);

	if (r < 0)
		return r;
	r = path_get(&new, arg[1]);
	if (r == 0) {
		r = vfs_rename(old.str, new.str);
		path_free(&new);
	}
	path_free(&old);
	return r;
}

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
	vnode_put(old);
	return 0;
}

/* The length, with the NUL. */
long
sys_getcwd(const unsigned long *arg)
{
	struct vnode *dir;
	size_t size = arg[1];
	char *buf;
	long r;

	if (size == 0)
		return -EINVAL;
	buf = kmalloc(PATH_MAX_LEN);
	if (buf == NULL)
		return -ENOMEM;
	r = vfs_lookup(".", &dir);
	if (r == 0) {
		r = vfs_path(dir, buf, PATH_MAX_LEN);
		vnode_put(dir);
	}
	if (r >= 0 && (size_t)++r > size)
		r = -ERANGE;
	if (r >= 0 && copy_out(arg[0], buf, r) < 0)
		r = -EFAULT;
	kfree(buf);
	return r;
}

/* Everyone is root: only a device's mode, and a missing execute bit, count. */
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

long
sys_chmod(const unsigned long *arg)
{
	struct vnode *v;
	int r = lookup_user(arg[0], &v);

	if (r < 0)
		return r;
	r = -EROFS;
	if (v->ops->chmod != NULL)
		r = v->ops->chmod(v, arg[1] & 07777);
	vnode_put(v);
	return r;
}

/* In ns since 1970; TIME_OMIT; or -EINVAL. */
static int64_t
time_in_ns(const struct timespec *t)
{
	if (t->tv_nsec == UTIME_NOW)
		return time_realtime_ns();
	if (t->tv_nsec == UTIME_OMIT)
		return TIME_OMIT;
	if (t->tv_nsec < 0 || t->tv_nsec >= NS_PER_S || t->tv_sec < 0 ||
	    t->tv_sec >= INT64_MAX / NS_PER_S)
		return -EINVAL;
	return t->tv_sec * NS_PER_S + t->tv_nsec;
}

/* The two times at address user, in ns; address 0 stands for now. */
static int
copy_in_times(uintptr_t user, int64_t ns[2])
{
	struct timespec t[2];

	if (user == 0) {
		ns[0] = ns[1] = time_realtime_ns();
		return 0;
	}
	if (copy_in(t, user, sizeof t) < 0)
		return -EFAULT;
	for (int i = 0; i < 2; i++) {
		ns[i] = time_in_ns(&t[i]);
		if (ns[i] == -EINVAL)
			return -EINVAL;
	}
	return 0;
}

long
sys_utimens(const unsigned long *arg)
{
	struct vnode *v;
	int64_t ns[2];
	int r = copy_in_times(arg[1], ns);

	if (r < 0)
		return r;
	r = lookup_user(arg[0], &v);
	if (r < 0)
		return r;
	r = v->ops->utimens != NULL ? v->ops->utimens(v, ns) : -EROFS;
	vnode_put(v);
	return r;
}
