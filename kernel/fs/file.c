/* Open files, and the transfer of bytes to and from user memory (uio.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/lock.h"

#include "epoll.h"
#include "filelock.h"
#include "uio.h"
#include "vnode.h"

/* Those of open's flags that still matter when the file is open. */
#define FILE_FLAGS (O_ACCMODE | O_APPEND | O_NONBLOCK)

const char zeroes[PAGE_SIZE];

/* Pieces without bytes are passed over. */
void
uio_skip(struct uio *u, size_t n)
{
	for (;;) {
		size_t some = n < uio_piece(u) ? n : uio_piece(u);

		u->base += some;
		u->left -= some;
		u->offset += some;
		n -= some;
		if (uio_piece(u) != 0 || u->later == 0)
			return;
		u->base = (uintptr_t)u->next->iov_base;
		u->later -= u->next->iov_len;
		u->next++;
	}
}

/* uio_move with a vector: piece by piece. Whoever takes bytes must have all, or
 * know that there are none. */
static SLOW_PATH ssize_t
uio_move_pieces(struct uio *u, bool to, void *mem, size_t n)
{
	const struct uio start = *u;
	size_t done = 0;

	while (done < n) {
		size_t some = n - done;
		char *at = (char *)mem + done;
		int r;

		if (some > uio_piece(u))
			some = uio_piece(u);
		r = to ? copy_out(u->base, at, some)
		       : copy_in(at, u->base, some);
		if (r < 0 && to && done > 0)
			return done;
		if (r < 0) {
			*u = start;
			return r;
		}
		uio_skip(u, some);
		done += some;
	}
	return done;
}

/* uio_to and uio_from in one: bytes go from mem to the memory of u if `to` is
 * set, else back. It is inlined into both, where `to` is a constant. */
static inline __attribute__((always_inline)) ssize_t
uio_move(struct uio *u, bool to, void *mem, size_t n)
{
	if (n > u->left)
		n = u->left;
	if (u->later != 0)
		return uio_move_pieces(u, to, mem, n);
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

/* An open file is something new that a program asks for, so it leaves the
 * reserve of pages to those whose need is more urgent (mm/page.h). */
struct file *
file_alloc(void)
{
	struct file *f = NULL;

	if (page_spare(1, LEFT_BY_PROGRAMS))
		f = kmalloc(sizeof(*f));
	if (f == NULL)
		return NULL;
	*f = (struct file){.refs = 1, .lock = MUTEX("file", f->lock)};
	return f;
}

/* f may be in a table of descriptors already. Threads take it for open as soon
 * as it has a vnode. So that is stored last, with a release: after the flags,
 * and what the file system put into private (docs/locks.md, "opened"). */
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
	if (f->watched)
		epoll_forget(f);
	if (f->locked)
		filelock_release(f, NULL);
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
