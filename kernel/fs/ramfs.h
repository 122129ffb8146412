/*
 * ramfs: the file system at /, all in memory. ramfs.c has the names, and
 * ramfile.c the contents of files.
 */
#ifndef KERNEL_RAMFS_H
#define KERNEL_RAMFS_H

#include "vfs.h"

/*
 * A file or directory. There are no hard links, so it is its own directory
 * entry too. It has a reference while it's in a directory: one that is removed
 * while open keeps its contents until the last close.
 */
struct ramnode {
	struct vnode vnode; /* first: a ramfs vnode's address is its node's */
	unsigned long ino;  /* the C library's ino_t has but 16 bits of it */
	mode_t mode;        /* type and permissions; chmod sets these */
	int64_t atime, mtime, ctime; /* ns since 1970 */

	/* Its place in the tree; under ramfs_lock. */
	struct ramnode *parent;    /* the root's is itself; NULL: removed */
	struct ramnode *branch[2]; /* of its directory's tree, see ramfs.c */
	uint64_t hash;             /* of its name */
	char *name;                /* kmalloc'ed */
	struct list sibling;       /* in parent's children */
	off_t cookie;              /* its place among them, for readdir */

	/* A directory's; under ramfs_lock. */
	struct ramnode *top;  /* of its children's tree */
	struct list children; /* cookies ascend */
	struct list *cursor;  /* where the last readdir was among them */
	unsigned int subdirs;

	/* A file's. Only who has lock changes these, and takes page_lock to do
	 * so; page_lock alone is enough to look. lock is held while user memory
	 * is read, so read and getpage, which a fault asks, do without it. */
	struct mutex lock;
	struct spinlock page_lock;
	off_t size;
	void **page;     /* NULL where there is a hole */
	size_t max_page; /* how many the array has room for */
	size_t npages;   /* how many there are */
};

extern const struct vnode_ops ramfile_ops;

static inline struct ramnode *
ramnode_of(struct vnode *v)
{
	return (struct ramnode *)v;
}

/* For every node. */
int ramnode_stat(struct vnode *v, struct stat *st);
int ramnode_setattr(struct vnode *v, const struct attr *a);
void ramnode_free(struct vnode *v);

/* Give back all pages of a file that no one can reach any more. */
void ramfile_clear(struct ramnode *n);

#endif
