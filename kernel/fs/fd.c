/*
 * Descriptors: a process's table of open files.
 *
 * A descriptor is first reserved and then bound, so that open can find out
 * that there is none left before it has created or truncated anything.
 */
#include <errno.h>
#include <string.h>

#include "../proc/proc.h"
#include "vfs.h"

#define FD_BIT(fd) ((uint64_t)1 << (fd))

void
fdtable_init(struct fdtable *t)
{
	memset(t, 0, sizeof *t);
	t->lock = (struct spinlock)SPINLOCK1("descriptors");
}

/* The child isn't running yet: only the parent's table needs its lock. */
void
fdtable_fork(struct fdtable *child, struct fdtable *parent)
{
	spin_lock(&parent->lock);
	for (int fd = 0; fd < FD_MAX && parent->used >> fd; fd++) {
		struct file *f = parent->file[fd];

		if (f == NULL)
			continue;
		file_ref(f);
		child->file[fd] = f;
		child->used |= FD_BIT(fd);
	}
	child->cloexec = parent->cloexec & child->used;
	spin_unlock(&parent->lock);
}

/* Empty a slot; gives the file that was there. The lock is held. */
static struct file *
fd_take(struct fdtable *t, int fd)
{
	struct file *f = t->file[fd];

	t->file[fd] = NULL;
	t->used &= ~FD_BIT(fd);
	t->cloexec &= ~FD_BIT(fd);
	return f;
}

/* Close those whose bit is set. A close may sleep: not under the lock. */
static void
close_many(struct fdtable *t, uint64_t which)
{
	for (int fd = 0; fd < FD_MAX && which >> fd; fd++) {
		struct file *f;

		if (!(which & FD_BIT(fd)))
			continue;
		spin_lock(&t->lock);
		f = fd_take(t, fd);
		spin_unlock(&t->lock);
		if (f != NULL)
			file_put(f);
	}
}

void
fdtable_exec(struct fdtable *t)
{
	close_many(t, t->cloexec);
}

void
fdtable_close_all(struct fdtable *t)
{
	close_many(t, t->used);
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
	if (f != NULL)
		file_ref(f);
	spin_unlock(&t->lock);
	return f;
}

int
fd_reserve(int min, bool cloexec)
{
	struct fdtable *t = current->proc->fds;
	int fd = min;

	spin_lock(&t->lock);
	while (fd < FD_MAX && t->used & FD_BIT(fd))
		fd++;
	if (fd < FD_MAX) {
		t->used |= FD_BIT(fd);
		if (cloexec)
			t->cloexec |= FD_BIT(fd);
	}
	spin_unlock(&t->lock);
	return fd < FD_MAX ? fd : -EMFILE;
}

void
fd_bind(int fd, struct file *f)
{
	struct fdtable *t = current->proc->fds;

	spin_lock(&t->lock);
	t->file[fd] = f;
	spin_unlock(&t->lock);
}

void
fd_release(int fd)
{
	struct fdtable *t = current->proc->fds;

	spin_lock(&t->lock);
	fd_take(t, fd);
	spin_unlock(&t->lock);
}

int
fd_install(struct file *f, int min, bool cloexec)
{
	int fd = fd_reserve(min, cloexec);

	if (fd >= 0)
		fd_bind(fd, f);
	return fd;
}

int
fd_close(int fd)
{
	struct fdtable *t = current->proc->fds;
	struct file *f = NULL;

	if ((unsigned int)fd >= FD_MAX)
		return -EBADF;
	spin_lock(&t->lock);
	if (t->file[fd] != NULL)
		f = fd_take(t, fd);
	spin_unlock(&t->lock);
	if (f == NULL)
		return -EBADF;
	file_put(f);
	return 0;
}

/* A slot that another thread has reserved is busy: it will be bound. */
int
fd_dup2(struct file *f, int fd)
{
	struct fdtable *t = current->proc->fds;
	struct file *old = NULL;

	spin_lock(&t->lock);
	if (t->file[fd] == NULL && t->used & FD_BIT(fd)) {
		spin_unlock(&t->lock);
		file_put(f);
		return -EBUSY;
	}
	old = fd_take(t, fd);
	t->file[fd] = f;
	t->used |= FD_BIT(fd);
	spin_unlock(&t->lock);
	if (old != NULL)
		file_put(old);
	return fd;
}

bool
fd_cloexec(int fd)
{
	struct fdtable *t = current->proc->fds;

	return t->cloexec & FD_BIT(fd);
}

void
fd_set_cloexec(int fd, bool cloexec)
{
	struct fdtable *t = current->proc->fds;

	spin_lock(&t->lock);
	if (t->file[fd] != NULL && cloexec)
		t->cloexec |= FD_BIT(fd);
	else if (t->file[fd] != NULL)
		t->cloexec &= ~FD_BIT(fd);
	spin_unlock(&t->lock);
}
