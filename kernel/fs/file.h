/*
 * Open files: what a descriptor leads to. dup and fork make more descriptors of
 * the same open file, which share its offset and its flags:
 *
 *	descriptors of processes (fd.h) -> struct file -> struct vnode
 */
#ifndef KERNEL_FILE_H
#define KERNEL_FILE_H

#include <stdbool.h>

#include "sched/lock.h"
#include "vnode.h"

/*
 * A system call has a reference while it uses the file (fd_get), so another
 * thread may close the descriptor meanwhile: the file is closed when the call
 * is done.
 *
 * A read or write at the offset of a regular file, and a read of a directory's
 * entries, holds lock throughout; so each begins where the one before has
 * ended. On a device that would make others wait for long: there the offset is
 * changed with an atomic instead (at_offset in syscall/file.c).
 */
struct file {
	unsigned int refs;   /* atomic: descriptors, and calls in progress */
	int flags;           /* O_ACCMODE, O_APPEND, O_NONBLOCK */
	bool locked;         /* atomic: it may own locks (filelock.c) */
	bool watched;        /* by an epoll, now or before: fs/epoll.c */
	struct vnode *vnode; /* NULL: not opened yet (fs/fd.c) */
	void *private;       /* whatever the vnode's open puts here */
	struct mutex lock;   /* guards offset */
	off_t offset;
};

static inline void
file_ref(struct file *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
}

/* A file that isn't open yet, with the caller's reference. NULL: no memory. */
struct file *file_alloc(void);
/* Open f, as file_alloc returned it, on v. On success the caller's reference
 * to v becomes f's; on failure, an errno of v's operation open, it doesn't. */
int file_open(struct file *f, struct vnode *v, int flags);
/* Drop a reference; the last one closes the file. May sleep. */
void file_put(struct file *f);
/* What f is ready for, in the bits of <poll.h>. */
unsigned int file_poll(struct file *f);

#endif
