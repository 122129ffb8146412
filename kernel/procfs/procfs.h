/*
 * /proc and /sys: what Linux's programs ask about processes and the machine.
 * procfs.c has the tree, process.c and system.c what is in it: tables of names,
 * each with the function that makes its text.
 */
#ifndef KERNEL_PROCFS_H
#define KERNEL_PROCFS_H

#include "fs/vnode.h"
#include "sched/lock.h"

#include "text.h"

struct procnode;

/* A name in a directory. One of text, follow or link, and files belongs to it,
 * as its mode says. */
struct procfile {
	const char *name; /* the last of a table has NULL */
	mode_t mode;      /* type and permissions */
	/* Print the file: 0 or an errno. */
	int (*text)(const struct procnode *n, struct text *t);
	/* A link that leads to a vnode, whatever its name is: *out, with a
	 * reference, or an errno. */
	int (*follow)(const struct procnode *n, struct vnode **out);
	/* Or one that leads to a path, which this prints. */
	int (*link)(const struct procnode *n, struct text *t);
	/* What a directory has. */
	const struct procfile *files;
	/* It also has names that are numbers: the first one from `from' on, or
	 * -1; and what each of them is. */
	int (*next)(const struct procnode *n, int from);
	const struct procfile *numbered;
};

/* A file that was looked up. */
struct procnode {
	struct vnode vnode;      /* first: the vnode's address is the node's */
	struct procnode *parent; /* referenced; NULL: it is a root */
	const struct procfile *file;
	int number;    /* its name, if that is one */
	pid_t pid;     /* the process that it is about; 0: none */
	uint64_t born; /* and when that was made: a pid is used again */

	struct mutex lock; /* guards the text, made at the last read from 0 */
	struct text text;
};

extern const struct procfile process_files[]; /* of each process */
extern const struct procfile system_root;     /* /proc */
extern const struct procfile system_sys;      /* /sys */

/* When the process with this pid was made, in timer counts; 0: it isn't. */
uint64_t process_born(pid_t pid);
/* The text of mounts. */
int system_mounts(const struct procnode *n, struct text *t);
/* The least pid from this one on, or -1. */
int process_next(const struct procnode *n, int from);

void procfs_init(void); /* mount /proc and /sys */

#endif
