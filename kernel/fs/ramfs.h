/* ramfs: the file system at /, in memory. ramfs.c has the tree of names and
 * what stat tells, ramfile.c the contents of files. */
#ifndef KERNEL_RAMFS_H
#define KERNEL_RAMFS_H

#include "sched/lock.h"
#include "vnode.h"

/*
 * A file or directory. There are no hard links, so it is its own directory
 * entry as well, and its place there counts as one reference: a file that is
 * removed while it is open keeps its contents until it is closed. No lock
 * guards mode and the times: each is stored and loaded as a whole.
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

	/*
	 * A file's contents. Only a thread that holds `lock` changes them; it
	 * takes page_lock as well to change page, max_page or an element of the
	 * array. So to look at those either lock is enough.
	 *
	 * Why two? A write holds `lock` while it reads user memory. That may
	 * fault; and the fault may ask a file of ramfs, even this one, for a
	 * page, with aspace.lock held. So getpage must do without `lock`, and
	 * so does read.
	 *
	 * Others read size and npages without any lock: size grows only after
	 * the bytes are there (docs/locks.md).
	 */
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

/* Operations of files and directories alike, in ramfs.c. */
int ramnode_lookup(struct vnode *v, const char *name, struct vnode **out);
int ramnode_name(struct vnode *v, char *buf);
int ramnode_stat(struct vnode *v, struct stat *st);
int ramnode_setattr(struct vnode *v, const struct attr *a);
void ramnode_free(struct vnode *v);

/* Free all pages of a file to which there is no reference any more. */
void ramfile_clear(struct ramnode *n);

#endif
