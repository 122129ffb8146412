/*
 * Descriptors: a process's table of open files.
 *
 * open(2) puts its file into the table before the file is opened. So it finds
 * out that no descriptor is left before it has created or truncated anything.
 * Until the file is open its descriptor is taken, but counts as closed for all
 * others: fd_get, close and fork pass over it (is_open), and dup2 refuses to
 * replace it.
 *
 * References are dropped after the spinlock is released, since the last one
 * closes the file, and that may sleep.
 */
#include "fd.h"

#include <errno.h>
#include <string.h>

#include "sched/lock.h"

#include "file.h"

void
fdtable_init(struct fdtable *t)
{
	memset(t, 0, sizeof(*t));
	t->lock = (struct spinlock)SPINLOCK1("descriptors");
}

/* Has open finished? The acquire is for what file_open stored before vnode. */
static bool
is_open(const struct file *f)
{
	return f != NULL && __atomic_load_n(&f->vnode, __ATOMIC_ACQUIRE);
}

/* The child isn't running yet, so only the parent's table needs its lock. */
void
fdtable_fork(struct fdtable *child, struct fdtable *parent)
{
	spin_lock(&parent->lock);
	child->top = parent->top;
	for (int fd = 0; fd < parent->top; fd++) {
		struct file *f = parent->file[fd];

		if (!is_open(f))
			continue;
		file_ref(f);
		child->file[fd] = f;
		child->cloexec[fd] = parent->cloexec[fd];
	}
	spin_unlock(&parent->lock);
}

/* The process has only one thread left, in exit as in exec, so the table needs
 * no lock, and no open is in progress. */
void
fdtable_close(struct fdtable *t, bool all)
{
	for (int fd = 0; fd < t->top; fd++) {
		struct file *f = t->file[fd];

		if (f == NULL || !(all || t->cloexec[fd]))
			continue;
		t->file[fd] = NULL;
		file_put(f);
	}
}

struct file *
fd_get(struct fdtable *t, int fd)
{
	struct file *f;

	if ((unsigned int)fd >= FD_MAX)
		return NULL;
	spin_lock(&t->lock);
	f = t->file[fd];
	if (is_open(f))
		file_ref(f);
	else
		f = NULL;
	spin_unlock(&t->lock);
	return f;
}

static void
assign(struct fdtable *t, int fd, struct file *f, bool cloexec)
{
	must_hold(&t->lock);
	t->file[fd] = f;
	t->cloexec[fd] = cloexec;
	if (fd >= t->top)
		t->top = fd + 1;
}

int
fd_install(struct fdtable *t, struct file *f, int min, bool cloexec)
{
	int fd = min;

	spin_lock(&t->lock);
	while (fd < FD_MAX && t->file[fd] != NULL)
		fd++;
	if (fd < FD_MAX)
		assign(t, fd, f, cloexec);
	spin_unlock(&t->lock);
	if (fd < FD_MAX)
		return fd;
	file_put(f);
	return -EMFILE;
}

int
fd_close(struct fdtable *t, int fd, const struct file *only)
{
	struct file *f;

	if ((unsigned int)fd >= FD_MAX)
		return -EBADF;
	spin_lock(&t->lock);
	f = t->file[fd];
	if (only != NULL ? f == only : is_open(f))
		t->file[fd] = NULL;
	else
		f = NULL;
	spin_unlock(&t->lock);
	if (f == NULL)
		return -EBADF;
	file_put(f);
	return 0;
}

/* One of the two files loses its place, and is dropped: the old one; or f,
 * which then is in `old`, if fd is taken by an open in progress. */
int
fd_dup2(struct fdtable *t, struct file *f, int fd)
{
	struct file *old;

	spin_lock(&t->lock);
	old = t->file[fd];
	if (old != NULL && !is_open(old)) {
		old = f;
		f = NULL;
	} else {
		assign(t, fd, f, false);
	}
	spin_unlock(&t->lock);
	if (old != NULL)
		file_put(old);
	return f != NULL ? fd : -EBUSY;
}
