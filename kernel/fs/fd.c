/*
 * Descriptors: a process's table of open files.
 *
 * A file may be put here before it's opened, so that open can find out that
 * there is no descriptor left before it has created or truncated anything.
 * Until then no one else sees it: the descriptor counts as closed, but taken.
 */
#include <errno.h>
#include <string.h>

#include "../proc/proc.h"
#include "vfs.h"

void
fdtable_init(struct fdtable *t)
{
	memset(t, 0, sizeof *t);
	t->lock = (struct spinlock)SPINLOCK1("descriptors");
}

static bool
is_open(const struct file *f)
{
	return f != NULL && __atomic_load_n(&f->vnode, __ATOMIC_ACQUIRE);
}

/* The child isn't running yet: only the parent's table needs its lock. */
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

/* Close all, or those that are close-on-exec. The process has one thread, so
 * the table needs no lock. */
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
fd_get(int fd)
{
	struct fdtable *t = current->proc->fds;
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

/* Let fd stand for f. The lock is held. */
static void
assign(struct fdtable *t, int fd, struct file *f, bool cloexec)
{
	t->file[fd] = f;
	t->cloexec[fd] = cloexec;
	if (fd >= t->top)
		t->top = fd + 1;
}

int
fd_install(struct file *f, int min, bool cloexec)
{
	struct fdtable *t = current->proc->fds;
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
fd_close(int fd, const struct file *only)
{
	struct fdtable *t = current->proc->fds;
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

int
fd_dup2(struct file *f, int fd)
{
	struct fdtable *t = current->proc->fds;
	struct file *old;

	spin_lock(&t->lock);
	old = t->file[fd];
	if (old != NULL && !is_open(old)) {
		/* Another thread is about to open it. */
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
