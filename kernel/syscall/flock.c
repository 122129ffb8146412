/* System calls on locks of files: flock, and fcntl with a struct flock. What
 * locks do is in fs/filelock.c. */
#include "flock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/filelock.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "transfer.h"

bool
flock_is_command(int cmd)
{
	return (cmd >= F_GETLK && cmd <= F_SETLKW) ||
	       (cmd >= F_OFD_GETLK && cmd <= F_OFD_SETLKW);
}

/* Where the offsets in l begin: 0, the file's offset, or its end. */
static off_t
lock_base(struct file *f, const struct flock *l)
{
	struct stat st;
	int r;

	switch (l->l_whence) {
	case SEEK_SET:
		return 0;
	case SEEK_CUR:
		return __atomic_load_n(&f->offset, __ATOMIC_RELAXED);
	case SEEK_END:
		r = vnode_stat(f->vnode, &st);
		return r < 0 ? r : st.st_size;
	default:
		return -EINVAL;
	}
}

/* Set the range of a request: l_len 0 is up to the end, wherever that will be,
 * and a negative one is what lies before l_start. */
static int
lock_range(struct file *f, const struct flock *l, struct filelock *request)
{
	off_t start = lock_base(f, l), end = FILELOCK_END;

	if (start < 0)
		return start;
	if (__builtin_add_overflow(start, l->l_start, &start))
		return -EOVERFLOW;
	if (start < 0)
		return -EINVAL;
	if (l->l_len > 0 && __builtin_add_overflow(start, l->l_len - 1, &end))
		return -EOVERFLOW;
	if (l->l_len < 0) {
		end = start - 1;
		if (__builtin_add_overflow(start, l->l_len, &start) ||
		    start < 0)
			return -EINVAL;
	}
	request->start = start;
	request->end = end;
	return 0;
}

/* F_GETLK: what keeps the lock from being granted, or F_UNLCK. */
static long
lock_get(const struct filelock *request, struct flock *l, uintptr_t user)
{
	struct filelock found;

	if (!filelock_find(request, &found)) {
		l->l_type = F_UNLCK;
		return copy_out(user, l, sizeof(*l));
	}
	l->l_type = found.type;
	l->l_whence = SEEK_SET;
	l->l_start = found.start;
	l->l_len = found.end == FILELOCK_END ? 0 : found.end - found.start + 1;
	l->l_pid = found.pid;
	return copy_out(user, l, sizeof(*l));
}

/* If another thread has closed fd while this one set a lock, the lock would
 * stay; so it goes now, with the others on that file. */
static long
lock_keep(struct file *f, int fd, const struct filelock *request)
{
	struct file *now = fd_get(current->proc->fds, fd);

	if (now != f)
		filelock_release(request->owner, &request->on);
	if (now != NULL)
		file_put(now);
	return 0;
}

static long
lock_set(struct file *f, int fd, const struct filelock *request, bool wait)
{
	bool of_file = request->pid == -1;
	long r;

	if (request->type == F_RDLCK && !transfer_readable(f))
		return -EBADF;
	if (request->type == F_WRLCK && !transfer_writable(f))
		return -EBADF;
	if (of_file)
		__atomic_store_n(&f->locked, true, __ATOMIC_RELAXED);
	else
		fd_locks_files(current->proc->fds);
	r = filelock_set(request, wait);
	return r == 0 && !of_file ? lock_keep(f, fd, request) : r;
}

long
flock_fcntl(struct file *f, int fd, int cmd, uintptr_t user)
{
	bool of_file = cmd >= F_OFD_GETLK;
	bool get = cmd == F_GETLK || cmd == F_OFD_GETLK;
	struct filelock request = {
	    .owner = of_file ? (void *)f : (void *)current->proc->fds,
	    .pid = of_file ? -1 : current->proc->pid,
	};
	struct flock l;
	int r;

	if (copy_in(&l, user, sizeof(l)) < 0)
		return -EFAULT;
	if ((of_file && l.l_pid != 0) || l.l_type < F_RDLCK ||
	    l.l_type > F_UNLCK || (get && l.l_type == F_UNLCK))
		return -EINVAL;
	request.type = l.l_type;
	r = lock_range(f, &l, &request);
	if (r == 0)
		r = filelock_key(f->vnode, &request.on);
	if (r < 0)
		return r;
	if (get)
		return lock_get(&request, &l, user);
	return lock_set(f, fd, &request,
			cmd == F_SETLKW || cmd == F_OFD_SETLKW);
}

/* flock(fd, operation) */
long
sys_flock(const unsigned long *arg)
{
	static const short types[] = {
	    [LOCK_SH] = F_RDLCK, [LOCK_EX] = F_WRLCK, [LOCK_UN] = F_UNLCK};
	unsigned int how = (unsigned int)arg[1] & ~LOCK_NB;
	struct filelock request = {
	    .whole = true, .pid = -1, .end = FILELOCK_END};
	struct file *f;
	long r;

	if (how != LOCK_SH && how != LOCK_EX && how != LOCK_UN)
		return -EINVAL;
	f = fd_get(current->proc->fds, arg[0]);
	if (f == NULL)
		return -EBADF;
	request.owner = f;
	request.type = types[how];
	__atomic_store_n(&f->locked, true, __ATOMIC_RELAXED);
	r = filelock_key(f->vnode, &request.on);
	if (r == 0)
		r = filelock_set(&request, !(arg[1] & LOCK_NB));
	file_put(f);
	return r;
}
