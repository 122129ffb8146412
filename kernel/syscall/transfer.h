/* Reading and writing open files: what the calls on one piece of memory
 * (file.c), on vectors (linux/vector.c) and between files (linux/copy.c)
 * share. */
#ifndef KERNEL_TRANSFER_H
#define KERNEL_TRANSFER_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>

#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"

static inline bool
transfer_readable(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

static inline bool
transfer_writable(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

/* The operation read, or write, of a vnode. */
typedef ssize_t (*transfer_op)(struct vnode *, struct file *, struct uio *);

/* Call op at the file's offset, and advance the offset by what was
 * transferred. */
ssize_t file_at_offset(struct file *f, struct uio *u, transfer_op op);

/*
 * Read f, or write it, if its mode allows it. If positioned, that is done at
 * u->offset; else at the file's, which is advanced. Inlined into each call,
 * where write and positioned are constants and cost no test.
 */
static inline __attribute__((always_inline)) ssize_t
transfer_file(struct file *f, struct uio *u, bool write, bool positioned)
{
	struct vnode *v = f->vnode;
	transfer_op op = write ? v->ops->write : v->ops->read;

	/* Also at an offset, where POSIX would have it written there. */
	u->append = write && f->flags & O_APPEND;
	if (!(write ? transfer_writable(f) : transfer_readable(f)))
		return -EBADF;
	if (positioned && v->stream)
		return -ESPIPE;
	if (!write && v->type == S_IFDIR)
		return -EISDIR;
	if (u->offset < 0 || u->left > LONG_MAX)
		return -EINVAL;
	if (positioned || v->stream)
		return op(v, f, u);
	return file_at_offset(f, u, op);
}

#endif
