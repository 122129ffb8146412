/*
 * sendfile and copy_file_range: copying from file to file within the kernel,
 * through a page.
 *
 * The offsets of the files are loaded at the start and stored at the end, as in
 * Linux: two copies from the same open file at once may copy the same bytes.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/layout.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "syscall/transfer.h"

/* One of the two files of a copy, and where it is read or written. */
struct copy_end {
	struct file *f;
	uintptr_t user; /* where the offset is; 0: it is the file's own */
	off_t at;
	bool stream; /* it is written as by write(2) */
};

static int
copy_begin(struct copy_end *e)
{
	if (e->user == 0)
		e->at = __atomic_load_n(&e->f->offset, __ATOMIC_RELAXED);
	else if (copy_in(&e->at, e->user, sizeof(e->at)) < 0)
		return -EFAULT;
	return e->at < 0 ? -EINVAL : 0;
}

static int
copy_end(const struct copy_end *e)
{
	if (e->user != 0)
		return copy_out(e->user, &e->at, sizeof(e->at));
	if (!e->stream) {
		mutex_lock(&e->f->lock);
		e->f->offset = e->at;
		mutex_unlock(&e->f->lock);
	}
	return 0;
}

/* Copy a page, or less; only what was written counts as read. */
static ssize_t
copy_some(struct copy_end *in, struct copy_end *out, void *page, size_t n)
{
	struct uio from = {
	    .base = (uintptr_t)page,
	    .left = n < PAGE_SIZE ? n : PAGE_SIZE,
	    .offset = in->at,
	    .kernel = true,
	};
	struct uio to = from;
	ssize_t r = transfer_file(in->f, &from, false, true);

	if (r <= 0)
		return r;
	to.left = r;
	to.offset = out->at;
	r = out->stream ? transfer_file(out->f, &to, true, false)
			: transfer_file(out->f, &to, true, true);
	if (r > 0) {
		in->at += r;
		out->at += r;
	}
	return r;
}

/* Copy n bytes, or up to the end, an error or a signal; how many. */
static ssize_t
copy_all(struct copy_end *in, struct copy_end *out, size_t n)
{
	void *page = page_alloc();
	size_t done = 0;
	ssize_t r = 0;

	if (page == NULL)
		return -ENOMEM;
	while (done < n) {
		r = copy_some(in, out, page, n - done);
		if (r > 0)
			done += r;
		else
			break;
		if (thread_interrupted()) {
			r = -ERESTART;
			break;
		}
	}
	page_free(page);
	return done > 0 ? (ssize_t)done : r;
}

static long
copy(struct copy_end *in, struct copy_end *out, size_t n)
{
	int r = copy_begin(in);
	ssize_t done;

	if (r == 0 && !out->stream)
		r = copy_begin(out);
	if (r < 0)
		return r;
	done = copy_all(in, out, n);
	if (done > 0 && (copy_end(in) < 0 || copy_end(out) < 0))
		return -EFAULT;
	return done;
}

/* sendfile(out, in, off_t *offset, size): in is a regular file; what out is
 * doesn't matter. */
long
sys_sendfile(const unsigned long *arg)
{
	struct copy_end out = {.f = fd_get(current->proc->fds, arg[0])};
	struct copy_end in = {.f = fd_get(current->proc->fds, arg[1]),
			      .user = arg[2]};
	long r = -EBADF;

	if (out.f != NULL && in.f != NULL && transfer_readable(in.f) &&
	    transfer_writable(out.f)) {
		out.stream = true;
		if (in.f->vnode->stream && in.user != 0)
			r = -ESPIPE;
		else if (in.f->vnode->type != S_IFREG ||
			 out.f->flags & O_APPEND)
			r = -EINVAL;
		else
			r = copy(&in, &out, arg[3]);
	}
	if (out.f != NULL)
		file_put(out.f);
	if (in.f != NULL)
		file_put(in.f);
	return r;
}

/* What Linux checks of copy_file_range's files. */
static int
check_copy(const struct copy_end *in, const struct copy_end *out)
{
	mode_t a = in->f->vnode->type, b = out->f->vnode->type;

	if (!transfer_readable(in->f) || !transfer_writable(out->f) ||
	    out->f->flags & O_APPEND)
		return -EBADF;
	if (a == S_IFDIR || b == S_IFDIR)
		return -EISDIR;
	return a == S_IFREG && b == S_IFREG ? 0 : -EINVAL;
}

/* Of one file, only ranges that don't overlap can be copied: what isn't there
 * doesn't count. */
static int
check_apart(const struct copy_end *in, const struct copy_end *out, size_t n)
{
	off_t apart = in->at > out->at ? in->at - out->at : out->at - in->at;
	struct stat st;
	int r = vnode_stat(in->f->vnode, &st);

	if (r < 0 || in->at >= st.st_size)
		return r;
	if (n > (size_t)(st.st_size - in->at))
		n = st.st_size - in->at;
	return (size_t)apart < n ? -EINVAL : 0;
}

/* copy_file_range(in, off_t *, out, off_t *, size, flags): flags 0, and the
 * ranges of one file don't overlap. */
long
sys_copy_file_range(const unsigned long *arg)
{
	struct copy_end in = {.f = fd_get(current->proc->fds, arg[0]),
			      .user = arg[1]};
	struct copy_end out = {.f = fd_get(current->proc->fds, arg[2]),
			       .user = arg[3]};
	size_t n = arg[4];
	long r = -EBADF;

	if (in.f != NULL && out.f != NULL)
		r = arg[5] != 0 ? -EINVAL : check_copy(&in, &out);
	if (r == 0 && in.f->vnode == out.f->vnode) {
		r = copy_begin(&in);
		if (r == 0)
			r = copy_begin(&out);
		if (r == 0)
			r = check_apart(&in, &out, n);
	}
	if (r == 0)
		r = copy(&in, &out, n);
	if (in.f != NULL)
		file_put(in.f);
	if (out.f != NULL)
		file_put(out.f);
	return r;
}
