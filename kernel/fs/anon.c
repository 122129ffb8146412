/* Files without a name: see anon.h. */
#include "anon.h"

#include <errno.h>
#include <fcntl.h>

#include "base/layout.h"

#include "fd.h"
#include "file.h"

void
anon_init(struct vnode *v, const struct vnode_ops *ops)
{
	vnode_init(v, ops, 0);
	v->stream = true;
}

int
anon_stat(struct vnode *, struct stat *st)
{
	st->st_mode = 0600;
	st->st_nlink = 1;
	st->st_blksize = PAGE_SIZE;
	return 0;
}

ssize_t
anon_refuse(struct vnode *, struct file *, struct uio *)
{
	return -EINVAL;
}

/* file_open can't fail, as none of these vnodes has an operation open. */
int
anon_open(struct fdtable *t, struct vnode *v, int flags)
{
	struct file *f = file_alloc();

	if (f == NULL) {
		vnode_put(v);
		return -ENOMEM;
	}
	file_open(f, v, O_RDWR | (flags & O_NONBLOCK));
	return fd_install(t, f, 0, flags & O_CLOEXEC);
}
