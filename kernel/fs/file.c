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

static void
uio_advance(struct uio *u, size_t n)
{
	u->base += n;
	u->left -= n;
	u->offset += n;
}

ssize_t
uio_to(struct uio *u, const void *src, size_t n)
{
	if (n > u->left)
		n = u->left;
	if (u->kernel)
		memcpy((void *)u->base, src, n);
	else if (copy_out(u->base, src, n) < 0)
		return -EFAULT;
	uio_advance(u, n);
	return n;
}

ssize_t
uio_from(struct uio *u, void *dst, size_t n)
{
	if (n > u->left)
		n = u->left;
	if (u->kernel)
		memcpy(dst, (const void *)u->base, n);
	else if (copy_in(dst, u->base, n) < 0)
		return -EFAULT;
	uio_advance(u, n);
	return n;
}

ssize_t
uio_zero(struct uio *u, size_t n)
{
	if (n > u->left)
		n = u->left;
	if (u->kernel)
		memset((void *)u->base, 0, n);
	else if (zero_out(u->base, n) < 0)
		return -EFAULT;
	uio_advance(u, n);
	return n;
}

struct file *
file_alloc(void)
{
	struct file *f = kmalloc(sizeof *f);

	if (f == NULL)
		return NULL;
	*f = (struct file){.refs = 1};
	mutex_init(&f->lock, "file");
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
		f->vnode = v;
	return r;
}

void
file_ref(struct file *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
}

void
file_put(struct file *f)
{
	struct vnode *v = f->vnode;

	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (v != NULL) {
		if (v->ops->close != NULL)
			v->ops->close(v, f);
		vnode_put(v);
	}
	kfree(f);
}

/*
 * Call op at the file's offset, and move that on. Regular files keep others
 * from the offset meanwhile. A device may block for long, and someone who
 * waits for its file's lock couldn't be interrupted: there, the offset is
 * added to afterwards.
 */
static ssize_t
file_transfer(struct file *f, struct uio *u,
	      ssize_t (*op)(struct vnode *, struct file *, struct uio *))
{
	ssize_t n;

	if (f->vnode->type == S_IFREG) {
		mutex_lock(&f->lock);
		u->offset = f->offset;
		n = op(f->vnode, f, u);
		if (n > 0)
			f->offset = u->offset;
		mutex_unlock(&f->lock);
		return n;
	}
	u->offset = __atomic_load_n(&f->offset, __ATOMIC_RELAXED);
	n = op(f->vnode, f, u);
	if (n > 0 && !f->vnode->stream)
		__atomic_fetch_add(&f->offset, n, __ATOMIC_RELAXED);
	return n;
}

ssize_t
file_read(struct file *f, struct uio *u)
{
	if (f->vnode->type == S_IFDIR)
		return -EISDIR;
	return file_transfer(f, u, f->vnode->ops->read);
}

ssize_t
file_write(struct file *f, struct uio *u)
{
	u->append = __atomic_load_n(&f->flags, __ATOMIC_RELAXED) & O_APPEND;
	return file_transfer(f, u, f->vnode->ops->write);
}

unsigned int
file_poll(struct file *f, struct poller *p)
{
	const struct vnode_ops *ops = f->vnode->ops;

	return ops->poll != NULL ? ops->poll(f->vnode, f, p) : POLLIN | POLLOUT;
}
