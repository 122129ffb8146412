/* ramfs: the file system at /, in memory. ramfs.c has what is done with files
 * and their names, ramname.c the names of a directory, ramfile.c the contents
 * of files. */
#ifndef KERNEL_RAMFS_H
#define KERNEL_RAMFS_H

#include "sched/lock.h"
#include "vnode.h"

extern struct spinlock ramfs_lock; /* of level 1 */

/* A name in a directory. Under ramfs_lock; text and hash don't change. */
struct ramname {
	struct ramnode *node;      /* what it leads to; referenced */
	struct ramnode *dir;       /* where it is */
	struct ramname *branch[2]; /* of dir's tree, see ramname.c */
	struct list sibling;       /* in dir's children */
	struct list other;         /* in node's names */
	off_t cookie;              /* its place in dir, for readdir */
	uint64_t hash;             /* of text */
	char text[];
};

/*
 * A file, directory or symbolic link. Each of its names counts as one
 * reference: a file that is removed while it is open keeps its contents until
 * it is closed. No lock guards mode and the times: each is stored and loaded as
 * a whole.
 */
struct ramnode {
	struct vnode vnode; /* first: a ramfs vnode's address is its node's */
	ino_t ino;
	mode_t mode; /* type and permissions; chmod sets these */
	uid_t uid;   /* the owner: whom chown has named */
	gid_t gid;
	int64_t atime, mtime, ctime; /* ns since 1970 */

	/* Its names; under ramfs_lock. */
	struct list names;  /* of struct ramname, by other */
	unsigned int links; /* how many */

	/* A directory's; under ramfs_lock. */
	struct ramname *top;  /* of its names' tree */
	struct list children; /* its names; cookies ascend */
	struct list *cursor;  /* where the last readdir was among them */
	unsigned int subdirs;

	char *target; /* a symbolic link's, of `size` bytes; constant */

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
	 *
	 * A fault of a shared mapping fills a hole: under page_lock alone it
	 * stores an element that is NULL, below the size. The array has room
	 * for that: as long as a file is shared it's as long as the file.
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

static inline bool
is_ramdir(const struct ramnode *n)
{
	return n->vnode.type == S_IFDIR;
}

/*
 * The names of a directory, in ramname.c. The caller holds ramfs_lock, but for
 * ramname_create: a new name, from kmalloc, which is nowhere yet; NULL: no
 * memory.
 */
struct ramname *ramname_create(const char *text);
struct ramname *ramname_find(struct ramnode *dir,
			     const char *text); /* or NULL */
/* Put a new name into dir, where it is free. A reference to n becomes its. */
void ramname_add(struct ramnode *dir, struct ramname *e, struct ramnode *n);
/* Take a name out of its directory. Its memory, and its reference to its node,
 * are the caller's from now on. */
void ramname_remove(struct ramname *e);
/* Let each of two names lead where the other did. */
void ramname_exchange(struct ramname *a, struct ramname *b);
/* The first name whose cookie is at least that given, or NULL. */
struct ramname *ramname_at(struct ramnode *dir, off_t cookie);

/* Operations of files and directories alike, in ramfs.c. */
int ramnode_lookup(struct vnode *v, const char *name, struct vnode **out);
int ramnode_name(struct vnode *v, char *buf);
int ramnode_stat(struct vnode *v, struct stat *st);
int ramnode_statfs(struct vnode *v, struct statfs *st);
int ramnode_setattr(struct vnode *v, const struct attr *a);
void ramnode_free(struct vnode *v);

/* A file of so many zeroes that has no name, referenced; NULL: no memory. */
struct vnode *ramfs_unnamed(off_t size);
/* Free all pages of a file to which there is no reference any more. */
void ramfile_clear(struct ramnode *n);

#endif
