/* The descriptors of a process: numbers that stand for open files. The
 * functions that may close a file may sleep. */
#ifndef KERNEL_FD_H
#define KERNEL_FD_H

#include <stdbool.h>

#include "sched/lock.h"

struct file;

#define FD_MAX   1024
#define FD_FIRST 64 /* for which there is room from the start */

/*
 * All threads of a process share one table, which has a reference to each file
 * in it. An entry is NULL if the descriptor is free; while an open is in
 * progress it is a file that isn't open yet (fd.c).
 */
struct fdtable {
	struct spinlock lock; /* level 1; guards the rest */
	struct file **file;
	bool *cloexec; /* what a free one has here doesn't matter */
	int size;      /* of both arrays: FD_FIRST, or what was allocated */
	int top;       /* from here on none was ever used */
	bool locks;    /* atomic: the process may own locks on files */
	struct file *first_file[FD_FIRST];
	bool first_cloexec[FD_FIRST];
};

void fdtable_init(struct fdtable *t);
/* Copy the parent's open files to the child's table, which is empty: 0, or
 * -ENOMEM. */
int fdtable_fork(struct fdtable *child, struct fdtable *parent);
/* Close all descriptors (exit), or only those that are close-on-exec (exec). */
void fdtable_close(struct fdtable *t, bool all);
/* The open file that fd stands for, referenced; NULL: there is none. */
struct file *fd_get(struct fdtable *t, int fd);
/* Let the lowest free descriptor from min on stand for f, which may not be open
 * yet, and return it. The caller's reference to f becomes the table's. If there
 * is no free one the reference is dropped, and -EMFILE or -ENOMEM returned. */
int fd_install(struct fdtable *t, struct file *f, int min, bool cloexec);
/* Close fd: 0, or -EBADF. Unless `only` is NULL, fd is closed only if it stands
 * for that file, open or not: sys_open takes back the descriptor of a file that
 * it couldn't open, which may stand for another one by now. */
int fd_close(struct fdtable *t, int fd, const struct file *only);
/* Let fd, which is in range, stand for f in place of what it stood for before.
 * Takes the reference as fd_install does. Returns fd; -EBUSY if another thread
 * is just opening a file as fd; or -ENOMEM. */
int fd_dup(struct fdtable *t, struct file *f, int fd, bool cloexec);
/* Is fd closed by exec? What an fd that isn't open says or is told is lost. */
bool fd_cloexec(struct fdtable *t, int fd);
void fd_set_cloexec(struct fdtable *t, int fd, bool cloexec);
/* Close those from first to last, or set that exec closes them. */
void fd_close_range(struct fdtable *t, unsigned int first, unsigned int last,
		    bool later);
/* From now on each file that is closed loses the locks that t owns on it. */
void fd_locks_files(struct fdtable *t);

#endif
