/* Files that system calls name: see where.h. */
#include "where.h"

#include <errno.h>
#include <fcntl.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/thread.h"

int
where_get(struct where *w, int dir, uintptr_t user)
{
	ssize_t r = copy_in_str(w->path, user, sizeof(w->path));
	struct file *f;

	w->at = NULL;
	if (r == 0) /* its length */
		return -ENOENT;
	if (r < 0 || dir == AT_FDCWD || w->path[0] == '/')
		return r < 0 ? r : 0;
	f = fd_get(current->proc->fds, dir);
	if (f == NULL)
		return -EBADF;
	r = f->vnode->type == S_IFDIR ? 0 : -ENOTDIR;
	if (r == 0) {
		w->at = f->vnode;
		vnode_ref(w->at);
	}
	file_put(f);
	return r;
}

int
where_fd(int fd, struct vnode **out)
{
	struct file *f = fd_get(current->proc->fds, fd);

	if (f == NULL)
		return -EBADF;
	*out = f->vnode;
	vnode_ref(*out);
	file_put(f);
	return 0;
}

int
where_file(int fd, struct vnode **out)
{
	return fd == AT_FDCWD ? vfs_lookup(NULL, ".", out) : where_fd(fd, out);
}

int
where_lookup(int dir, uintptr_t user, int flags, struct vnode **out)
{
	struct where w;
	int r = where_get(&w, dir, user);

	if (r == -ENOENT && flags & AT_EMPTY_PATH) /* it is empty */
		r = where_file(dir, out);
	else if (r == 0 && flags & AT_SYMLINK_NOFOLLOW)
		r = vfs_lookup_link(w.at, w.path, out);
	else if (r == 0)
		r = vfs_lookup(w.at, w.path, out);
	where_put(&w);
	return r;
}
