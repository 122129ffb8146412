/*
 * Descriptors: a process's table of open files.
 *
 * open(2) puts its file into the table before the file is opened. So it finds
 * out that no descriptor is left before it has created or truncated anything.
 * Until the file is open its descriptor is taken, but counts as closed for all
 * others: fd_get, close and fork pass over it (is_open), and dup2 refuses to
 * replace it.
 *
 * The table has room for FD_FIRST, which is enough for most processes and costs
 * them nothing; then its arrays are replaced by ones of twice the size.
 *
 * References are dropped after the spinlock is released, since the last one
 * closes the file, and that may sleep.
 */
#include "fd.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"

#include "file.h"
#include "filelock.h"

void
fdtable_init(struct fdtable *t)
{
	memset(t, 0, sizeof(*t));
	t->lock = (struct spinlock)SPINLOCK1("descriptors");
	t->file = t->first_file;
	t->cloexec = t->first_cloexec;
	t->size = FD_FIRST;
}

/*
 * Make room for at least size descriptors, which are no more than FD_MAX: 0 or
 * -ENOMEM. Both arrays are one block of memory. If another thread has made room
 * meanwhile, the new block is not needed.
 */
static SLOW_PATH int
fdtable_grow(struct fdtable *t, int size)
{
	const size_t each = sizeof(*t->file) + sizeof(*t->cloexec);
	void *old = NULL;
	struct file **file = NULL;
	int most = FD_FIRST;

	while (most < size)
		most *= 2;
	if (page_spare(most * each / PAGE_SIZE + 1, LEFT_BY_PROGRAMS))
		file = kzalloc(most * each);
	if (file == NULL)
		return -ENOMEM;
	spin_lock(&t->lock);
	if (t->size < most) {
		bool *cloexec = (bool *)(file + most);

		memcpy(file, t->file, t->top * sizeof(*file));
		memcpy(cloexec, t->cloexec, t->top * sizeof(*cloexec));
		old = t->file != t->first_file ? t->file : NULL;
		t->file = file;
		t->cloexec = cloexec;
		__atomic_store_n(&t->size, most, __ATOMIC_RELAXED);
		file = NULL;
	}
	spin_unlock(&t->lock);
	kfree(old);
	kfree(file);
	return 0;
}

/* What fd stands for, open or not; NULL: nothing. */
static inline struct file *
at(const struct fdtable *t, int fd)
{
	must_hold(&t->lock);
	return (unsigned int)fd < (unsigned int)t->size ? t->file[fd] : NULL;
}

/* Has open finished? The acquire is for what file_open stored before vnode. */
static bool
is_open(const struct file *f)
{
	return f != NULL && __atomic_load_n(&f->vnode, __ATOMIC_ACQUIRE);
}

void
fd_locks_files(struct fdtable *t)
{
	__atomic_store_n(&t->locks, true, __ATOMIC_RELAXED);
}

/* The locks of a process on a file go with any of its descriptors. */
static SLOW_PATH void
release_locks(struct fdtable *t, struct file *f)
{
	struct filelock_key key;

	if (is_open(f) && filelock_key(f->vnode, &key) == 0)
		filelock_release(t, &key);
}

/* Drop the reference of a descriptor that was t's. */
static void
fd_drop(struct fdtable *t, struct file *f)
{
	if (__atomic_load_n(&t->locks, __ATOMIC_RELAXED))
		release_locks(t, f);
	file_put(f);
}

/* The child isn't running yet, so only the parent's table needs its lock. Other
 * threads of the parent may open more before that is taken. */
int
fdtable_fork(struct fdtable *child, struct fdtable *parent)
{
	spin_lock(&parent->lock);
	while (child->size < parent->top) {
		int size = parent->top;

		spin_unlock(&parent->lock);
		if (fdtable_grow(child, size) < 0)
			return -ENOMEM;
		spin_lock(&parent->lock);
	}
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
	return 0;
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
		fd_drop(t, f);
	}
	if (!all)
		return;
	if (t->locks)
		filelock_release(t, NULL);
	if (t->file != t->first_file)
		kfree(t->file);
	fdtable_init(t);
}

struct file *
fd_get(struct fdtable *t, int fd)
{
	struct file *f;

	spin_lock(&t->lock);
	f = at(t, fd);
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

/* Let the lowest free descriptor from min on stand for f. -EMFILE: the arrays
 * have none. */
static inline int
install(struct fdtable *t, struct file *f, int min, bool cloexec)
{
	int fd = min;

	spin_lock(&t->lock);
	while (fd < t->size && t->file[fd] != NULL)
		fd++;
	if (fd < t->size)
		assign(t, fd, f, cloexec);
	else
		fd = -EMFILE;
	spin_unlock(&t->lock);
	return fd;
}

/* The same, with larger arrays; again if other threads have filled those. */
static SLOW_PATH int
grow_and_install(struct fdtable *t, struct file *f, int min, bool cloexec)
{
	int fd, r;

	do {
		int size = __atomic_load_n(&t->size, __ATOMIC_RELAXED);

		if (size < min)
			size = min;
		r = size < FD_MAX ? fdtable_grow(t, size + 1) : -EMFILE;
		fd = r == 0 ? install(t, f, min, cloexec) : r;
	} while (fd == -EMFILE && r == 0);
	if (fd < 0)
		file_put(f);
	return fd;
}

int
fd_install(struct fdtable *t, struct file *f, int min, bool cloexec)
{
	int fd = install(t, f, min, cloexec);

	return fd >= 0 ? fd : grow_and_install(t, f, min, cloexec);
}

int
fd_close(struct fdtable *t, int fd, const struct file *only)
{
	struct file *f;

	spin_lock(&t->lock);
	f = at(t, fd);
	if (only != NULL ? f == only : is_open(f))
		t->file[fd] = NULL;
	else
		f = NULL;
	spin_unlock(&t->lock);
	if (f == NULL)
		return -EBADF;
	fd_drop(t, f);
	return 0;
}

/* One of the two files loses its place, and is dropped: the old one; or f,
 * which then is in `old`, if fd is taken by an open in progress. */
int
fd_dup(struct fdtable *t, struct file *f, int fd, bool cloexec)
{
	struct file *old;

	if (fd >= FD_FIRST && fdtable_grow(t, fd + 1) < 0) {
		file_put(f);
		return -ENOMEM;
	}
	spin_lock(&t->lock);
	old = t->file[fd];
	if (old != NULL && !is_open(old)) {
		old = f;
		f = NULL;
	} else {
		assign(t, fd, f, cloexec);
	}
	spin_unlock(&t->lock);
	if (old != NULL)
		fd_drop(t, old);
	return f != NULL ? fd : -EBUSY;
}

bool
fd_cloexec(struct fdtable *t, int fd)
{
	bool cloexec;

	spin_lock(&t->lock);
	cloexec = at(t, fd) != NULL && t->cloexec[fd];
	spin_unlock(&t->lock);
	return cloexec;
}

void
fd_set_cloexec(struct fdtable *t, int fd, bool cloexec)
{
	spin_lock(&t->lock);
	if (at(t, fd) != NULL)
		t->cloexec[fd] = cloexec;
	spin_unlock(&t->lock);
}

void
fd_close_range(struct fdtable *t, unsigned int first, unsigned int last,
	       bool later)
{
	for (unsigned int fd = first; fd < FD_MAX && fd <= last; fd++) {
		if (later)
			fd_set_cloexec(t, fd, true);
		else
			fd_close(t, fd, NULL);
	}
}
