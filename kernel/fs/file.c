/*
 * Open files: what open gives, and descriptors share after dup and fork; and
 * the transfer of bytes between them and whoever asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "vfs.h"

#define FILE_FLAGS (O_ACCMODE | O_APPEND | O_NONBLOCK)

const char zeroes[PAGE_SIZE];

/* Move n bytes to or from mem. Inlined twice. */
static inline __attribute__((always_inline)) ssize_t
uio_move(struct uio *u, bool to, void *mem, size_t n)
{
	if (n > u->left)
		n = u->left;
	if (u->kernel)
		memcpy(to ? (void *)u->base : mem, to ? mem : (void *)u->base,
		       n);
	else if ((to ? copy_out(u->base, mem, n) : copy_in(mem, u->base, n)) <
		 0)
		return -EFAULT;
	u->base += n;
	u->left -= n;
	u->offset += n;
	return n;
}

ssize_t
uio_to(struct uio *u, const void *src, size_t n)
{
	return uio_move(u, true, (void *)src, n);
}

ssize_t
uio_from(struct uio *u, void *dst, size_t n)
{
	return uio_move(u, false, dst, n);
}

struct file *
file_alloc(void)
{
	struct file *f = NULL;

	if (page_spare(1, LEFT_BY_PROGRAMS))
		f = kmalloc(sizeof *f);
	if (f == NULL)
		return NULL;
	*f = (struct file){.refs = 1, .lock = MUTEX("file", f->lock)};
	return f;
}

int
file_open(struct file *f, struct vnode *v, int flags)
{
	int r = 0;

	f->flags = flags & FILE_FLAGS;
	if (v->ops->open != NULL)
		r = v->ops->open(v, f);
	if (r == 0)
		__atomic_store_n(&f->vnode, v, __ATOMIC_RELEASE);
	return r;
}

void
file_put(struct file *f)
{
	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (f->vnode != NULL) {
		if (f->vnode->ops->close != NULL)
			f->vnode->ops->close(f->vnode, f);
		vnode_put(f->vnode);
	}
	kfree(f);
}

unsigned int
file_poll(struct file *f)
{
	const struct vnode_ops *ops = f->vnode->ops;

	return ops->poll != NULL ? ops->poll(f->vnode, f) : POLLIN | POLLOUT;
}
