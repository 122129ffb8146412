/* System calls on symbolic and hard links. */
#include <errno.h>
#include <fcntl.h>

#include "fs/vfs.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"

#include "where.h"

/* symlinkat(target, dir, path) */
long
sys_symlinkat(const unsigned long *arg)
{
	char target[PATH_MAX_LEN];
	struct where w;
	ssize_t r = copy_in_str(target, arg[0], sizeof(target));

	if (r < 0)
		return r;
	r = where_get(&w, arg[1], arg[2]);
	if (r == 0)
		r = vfs_symlink(target, w.at, w.path);
	where_put(&w);
	return r;
}

/* linkat(dir, path, dir, new path, flags): AT_SYMLINK_FOLLOW and
 * AT_EMPTY_PATH. */
long
sys_linkat(const unsigned long *arg)
{
	int flags = arg[4], r;
	struct where w;
	struct vnode *v;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!(flags & AT_SYMLINK_FOLLOW))
		flags |= AT_SYMLINK_NOFOLLOW;
	r = where_lookup(arg[0], arg[1], flags, &v);
	if (r < 0)
		return r;
	r = where_get(&w, arg[2], arg[3]);
	if (r == 0)
		r = vfs_link(v, w.at, w.path);
	where_put(&w);
	vnode_put(v);
	return r;
}

/* readlinkat(dir, path, buf, size): as much of the target as there is room for,
 * without a NUL; returns how much that is. An empty path is the descriptor's
 * own file, which may be a link if it was opened with O_PATH. */
long
sys_readlinkat(const unsigned long *arg)
{
	int size = arg[3];
	char target[PATH_MAX_LEN];
	struct vnode *v;
	ssize_t r;

	if (size <= 0)
		return -EINVAL;
	r = where_lookup(arg[0], arg[1], AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
			 &v);
	if (r < 0)
		return r;
	if ((size_t)size > sizeof(target))
		size = sizeof(target);
	r = v->type == S_IFLNK ? v->ops->readlink(v, target, size) : -EINVAL;
	vnode_put(v);
	return r > 0 && copy_out(arg[2], target, r) < 0 ? -EFAULT : r;
}
