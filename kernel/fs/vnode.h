/*
 * Vnodes. A vnode is a file, directory, device or pipe, whatever file system it
 * belongs to. ramfs, devfs, hostfs (/host) and pipe.c each fill in its table of
 * operations, struct vnode_ops; all others just call what is in the table.
 *
 * A file system puts a struct vnode at the start of a larger struct of its own
 * (ramnode, devnode, hostnode, pipe), so a cast leads from the one to the
 * other. Operations return 0, a count, or a negative errno.
 */
#ifndef KERNEL_VNODE_H
#define KERNEL_VNODE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "uio.h"

#define NAME_MAX_LEN 255 /* without the NUL */

struct vnode;
struct file;
struct dirent;
struct statfs;

/* What chmod, chown and utimens change. A field that is OMIT is left as it
 * is. */
struct attr {
	int mode;             /* permissions */
	int uid, gid;         /* the owner, who has no rights by that */
	int64_t atime, mtime; /* ns since 1970 */
};

#define OMIT (-1)
#define ATTR_NONE                                                      \
	{                                                              \
		.mode = OMIT, .uid = OMIT, .gid = OMIT, .atime = OMIT, \
		.mtime = OMIT                                          \
	}

/*
 * What a file system implements. Where an operation may be missing, the comment
 * behind it says what the caller does then: usually it returns that errno.
 *
 * The caller holds a reference to each vnode that it passes, and no spinlock,
 * so an operation may sleep. Those on directories do their own locking. A name
 * is one component of a path: never ".", and ".." only for lookup.
 */
struct vnode_ops {
	/* Directories. lookup: *out is the vnode of that name, referenced for
	 * the caller; -ENOENT: there is none. It is asked for ".." as well,
	 * except of the root of a mounted file system; what isn't a directory
	 * is asked for that only, by vfs_path. */
	int (*lookup)(struct vnode *dir, const char *name, struct vnode **out);
	/* Make a regular file or a directory, as mode says; -EEXIST if the name
	 * is taken. Unless out is NULL, *out is the new vnode, referenced. */
	int (*create)(struct vnode *dir, const char *name, mode_t mode,
		      struct vnode **out); /* EROFS */
	/* Make a symbolic link that leads to target; another name for v, which
	 * isn't a directory (-EXDEV: it is of another file system). */
	int (*symlink)(struct vnode *dir, const char *name,
		       const char *target); /* EROFS */
	int (*link)(struct vnode *dir, const char *name,
		    struct vnode *v); /* EROFS */
	/* S_IFDIR: remove an empty directory; else what isn't a directory. */
	int (*remove)(struct vnode *dir, const char *name,
		      mode_t type); /* EROFS */
	/* Both directories belong to the same file system. flags: those of
	 * renameat2; -EINVAL if the file system doesn't have them. */
	int (*rename)(struct vnode *from, const char *old, struct vnode *to,
		      const char *new, unsigned int flags); /* EROFS */
	/* Copy the name that v has in its directory to buf (NAME_MAX_LEN + 1);
	 * -ENOENT if v was removed. Not asked of a file system's root. */
	int (*name)(struct vnode *v, char *buf);
	/*
	 * Find the first entry at or past the position *cookie, and move
	 * *cookie past it. Returns 1, 0 at the end, or an errno. Cookies begin
	 * at DIR_COOKIE, as vfs_dots adds "." and ".." for all file systems.
	 * The caller holds the lock of f, the open directory.
	 */
	int (*readdir)(struct vnode *dir, struct file *f, off_t *cookie,
		       struct dirent *de);

	/* Symbolic links, of which nothing else is asked but stat, setattr and
	 * name. Copies up to size bytes of the target, without a NUL, and
	 * returns how many. */
	ssize_t (*readlink)(struct vnode *v, char *buf, size_t size);
	/* A link of /proc leads to a vnode, whatever its name is: *out, with a
	 * reference. -EINVAL, or no such operation: the target is read. */
	int (*follow)(struct vnode *v, struct vnode **out);

	/* Any vnode. open may refuse an open file; then there is no close.
	 * close is told when the last reference goes. Either may be missing. */
	int (*open)(struct vnode *v, struct file *f);
	void (*close)(struct vnode *v, struct file *f);
	/*
	 * Move up to u->left bytes at u->offset, and return how many. A regular
	 * file advances u by as many. What can be opened for reading must have
	 * read, and what can be opened for writing, write; but neither is asked
	 * of a directory. f is NULL in the kernel's own reads (vnode_read).
	 */
	ssize_t (*read)(struct vnode *v, struct file *f, struct uio *u);
	ssize_t (*write)(struct vnode *v, struct file *f, struct uio *u);
	int (*fsync)(struct vnode *v, struct file *f); /* nothing to do */
	int (*ioctl)(struct vnode *v, struct file *f, unsigned int cmd,
		     uintptr_t arg); /* ENOTTY */
	/* For select and poll: what is ready, in the bits of <poll.h>. Marks as
	 * polled each wait queue that is woken when the answer may change. */
	unsigned int (*poll)(struct vnode *v, struct file *f); /* all ready */
	int (*truncate)(struct vnode *v, off_t size);          /* EINVAL */
	int (*stat)(struct vnode *v, struct stat *st); /* st is all zeroes */
	/* What is in *st already is that of a file system without blocks. */
	int (*statfs)(struct vnode *v, struct statfs *st); /* nothing more */
	int (*setattr)(struct vnode *v, const struct attr *a); /* EROFS */
	/*
	 * Find the page that holds the byte at offset, for a program to map
	 * read-only, or if it's shared to write to; *page is referenced for the
	 * caller. Page faults ask it, with aspace.lock held. So it must not
	 * take a lock that anyone holds while touching user memory: that may
	 * fault, and take aspace.lock.
	 */
	int (*getpage)(struct vnode *v, off_t offset, bool shared, void **page);
	/* Count in v->shares one who is about to map v shared: from now on its
	 * pages stay the same ones when they are written. Not from page faults;
	 * vnode_unshare takes it back, even if this has failed. */
	int (*share)(struct vnode *v); /* it can't be mapped shared */
	void (*free)(struct vnode *v); /* the last reference is gone */
};

/* The first cookie of readdir that is a file system's own. */
#define DIR_COOKIE 2

/*
 * Every pointer to a vnode that is kept counts as one reference: that of an
 * open file, of a process's current directory, of a region of an address
 * space, of a mount, and of a walk along a path. A node of ramfs has one more
 * for its place in the tree, and a node of /host one for each node below it.
 *
 * A function that returns a vnode "referenced" leaves one reference to its
 * caller, who passes it on or drops it with vnode_put. Whoever has a reference
 * may take another with vnode_ref, without a lock. The first one comes from
 * lookup: it makes a new vnode, or finds one to which there is a reference that
 * can't be dropped meanwhile. ramfs_lookup, for one, holds the lock under which
 * a name, with its reference, is removed.
 */
struct vnode {
	const struct vnode_ops *ops;
	unsigned int refs;     /* atomic */
	mode_t type;           /* S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR, S_IFIFO */
	bool stream;           /* has no offsets: lseek is ESPIPE */
	unsigned int texts;    /* atomic: mappings as program text (ETXTBSY) */
	unsigned int shares;   /* atomic: shared mappings */
	struct vnode *mounted; /* root of a file system mounted here; final */
	struct vnode *covered; /* of such a root: where it is mounted; final */
};

/* The caller has a reference, or a lock without which none can be dropped. */
static inline void
vnode_ref(struct vnode *v)
{
	__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
}

/*
 * Drop a reference; v is freed with the last. The caller holds no spinlock, as
 * the file system's free may sleep. Release: what this thread did with v comes
 * before v is freed. Acquire: the thread that frees v sees what all others did
 * (docs/locks.md, "last").
 */
static inline void
vnode_put(struct vnode *v)
{
	if (__atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) == 0)
		v->ops->free(v);
}

static inline void
vnode_unshare(struct vnode *v)
{
	__atomic_fetch_sub(&v->shares, 1, __ATOMIC_RELAXED);
}

/* A vnode with one reference, which is the caller's. */
void vnode_init(struct vnode *v, const struct vnode_ops *ops, mode_t type);
/* Read a regular file into kernel memory. Returns the number of bytes, fewer
 * than n at the end of the file; -EINVAL for other types. */
ssize_t vnode_read(struct vnode *v, void *buf, size_t n, off_t offset);
int vnode_stat(struct vnode *v, struct stat *st);

#endif
