/* The descriptors of a process: numbers that stand for open files. The
 * functions that may close a file may sleep. */
#ifndef KERNEL_FD_H
#define KERNEL_FD_H

#include <stdbool.h>

#include "sched/lock.h"

struct file;

#define FD_MAX 64

/*
 * All threads of a process share one table, which has a reference to each file
 * in it. An entry is NULL if the descriptor is free; while an open is in
 * progress it is a file that isn't open yet (fd.c).
 */
struct fdtable {
	struct spinlock lock; /* level 1; guards the rest */
	struct file *file[FD_MAX];
	bool cloexec[FD_MAX]; /* what a free one has here doesn't matter */
	int top;              /* from here on none was ever used */
};

void fdtable_init(struct fdtable *t);
/* Copy the parent's open files to the child's table, which is empty. */
void fdtable_fork(struct fdtable *child, struct fdtable *parent);
/* Close all descriptors (exit), or only those that are close-on-exec (exec). */
void fdtable_close(struct fdtable *t, bool all);
/* The open file that fd stands for, referenced; NULL: there is none. */
struct file *fd_get(struct fdtable *t, int fd);
/* Let the lowest free descriptor from min on stand for f, which may not be open
 * yet, and return it. The caller's reference to f becomes the table's. If there
 * is no free one the reference is dropped, and -EMFILE returned. */
int fd_install(struct fdtable *t, struct file *f, int min, bool cloexec);
/* Close fd: 0, or -EBADF. Unless `only` is NULL, fd is closed only if it stands
 * for that file, open or not: sys_open takes back the descriptor of a file that
 * it couldn't open, which may stand for another one by now. */
int fd_close(struct fdtable *t, int fd, const struct file *only);
/* Let fd, which is in range, stand for f in place of what it stood for before.
 * Takes the reference as fd_install does. Returns fd; or -EBUSY if another
 * thread is just opening a file as fd. */
int fd_dup2(struct fdtable *t, struct file *f, int fd);

#endif
