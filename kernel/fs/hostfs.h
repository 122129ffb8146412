/*
 * The file system at /host: hostfs.c has the names, hostfile.c what is in open
 * files and directories.
 */
#ifndef KERNEL_HOSTFS_H
#define KERNEL_HOSTFS_H

#include "p9.h"
#include "vfs.h"

/* A file of the host's by one of its names. */
struct hostnode {
	struct vnode vnode;      /* first: the vnode's address is the node's */
	uint64_t path;           /* the server's number for the file */
	struct hostnode *parent; /* referenced; the root's is itself */
	bool reading;            /* its own fid is open, for vnode_read */
	char name[NAME_MAX_LEN + 1];
};

static inline struct hostnode *
hostnode_of(struct vnode *v)
{
	return (struct hostnode *)v;
}

/* What the server knows an object by. */
static inline unsigned int
fid_of(const void *object)
{
	return (uintptr_t)object;
}

/* The server may forget an object. */
void host_clunk(const void *object);
/* Let new be another fid of n's. */
int host_clone(const struct hostnode *n, const void *new);
/* The reply to P9_GETATTR, and where in it they are. */
int host_getattr(const struct hostnode *n, uint64_t reply[P9_REPLIES]);
enum {
	ATTR_PATH = 3,
	ATTR_MODE,
	ATTR_NLINK = 7,
	ATTR_SIZE = 9,
	ATTR_BLOCKS = 11,
	ATTR_ATIME, /* seconds, and then nanoseconds; so are the others */
	ATTR_MTIME = 14,
	ATTR_CTIME = 16,
};

#define QTDIR 0x80 /* in the type that a qid, the name of a file, has */

/* hostfile.c */
int hostfile_open(struct vnode *v, struct file *f);
void hostfile_close(struct vnode *v, struct file *f);
ssize_t hostfile_read(struct vnode *v, struct file *f, struct uio *u);
ssize_t hostfile_write(struct vnode *v, struct file *f, struct uio *u);
int hostfile_fsync(struct vnode *v, struct file *f);
int hostfile_getpage(struct vnode *v, off_t offset, void **page);
int hostfile_readdir(struct vnode *dir, struct file *f, off_t *cookie,
		     struct dirent *de);

#endif
