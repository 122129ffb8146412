/* Locks that programs put on files: see filelock.c. */
#ifndef KERNEL_FILELOCK_H
#define KERNEL_FILELOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

struct file;
struct vnode;

/* Which file a lock is on: a vnode doesn't tell, as /host has a new one for
 * each open. */
struct filelock_key {
	uint64_t dev, ino;
};

/* A lock, or a request for one. In the list of all locks a lock doesn't change
 * but for its range, under filelock_lock. */
struct filelock {
	struct list link;
	struct filelock_key on;
	/* A process's table of descriptors, or an open file: whose locks don't
	 * conflict with each other, and replace each other. */
	const void *owner;
	bool whole;       /* flock's: these are apart from those of fcntl */
	short type;       /* F_RDLCK, F_WRLCK; in a request also F_UNLCK */
	int pid;          /* for F_GETLK; -1: an open file's */
	off_t start, end; /* the first byte and the last */
};

#define FILELOCK_END INT64_MAX /* as far as the file may ever go */

int filelock_key(struct vnode *v, struct filelock_key *key);
/*
 * Set or remove a lock. If it conflicts with another one, that is -EAGAIN; or,
 * with `wait', waited for. Then there may be -EDEADLK, or -ERESTART: a signal
 * came. -ENOLCK: no memory, or too many locks.
 */
int filelock_set(const struct filelock *request, bool wait);
/* Is there a lock with which the request would conflict? Then *found is it. */
bool filelock_find(const struct filelock *request, struct filelock *found);
/* Remove the locks of an owner: on one file, or if that is NULL on all. */
void filelock_release(const void *owner, const struct filelock_key *on);

#endif
