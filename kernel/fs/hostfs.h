/* The file system at /host: hostfs.c has names and attributes, hostremove.c how
 * names go away, hostfile.c the contents of files and directories. */
#ifndef KERNEL_HOSTFS_H
#define KERNEL_HOSTFS_H

#include "base/list.h"
#include "sched/lock.h"

#include "p9.h"
#include "vnode.h"

/* A file of the host's, by one of its names. `reading` is guarded by `opening`
 * in hostfile.c, `opened` by `removing` in hostremove.c; the other fields don't
 * change once the node is made. */
struct hostnode {
	struct vnode vnode;      /* first: the vnode's address is the node's */
	uint64_t path;           /* the server's number for the file */
	struct hostnode *parent; /* referenced; the root's is itself */
	bool reading;            /* its own fid is open, for vnode_read */
	struct list opened;      /* on the list of what was opened */
	char name[NAME_MAX_LEN + 1];
};

static inline struct hostnode *
hostnode_of(struct vnode *v)
{
	return (struct hostnode *)v;
}

/* The fid by which the server knows an object of ours: the low half of its
 * address, which is its physical address, and so no other object's. */
static inline unsigned int
fid_of(const void *object)
{
	return (uintptr_t)object;
}

/* Tell the server to forget an object's fid. */
void host_clunk(const void *object);
/* Let new's fid stand for n's file as well. */
int host_clone(const struct hostnode *n, const void *new);
/* Ask for n's attributes. Those that matter are in reply at these places. */
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

/* In the type that a qid, the name of a file, has. */
#define QTDIR     0x80
#define QTSYMLINK 0x02

/* Find the node of a name: vnode_ops.lookup. */
int host_lookup(struct vnode *v, const char *name, struct vnode **out);

/* The operations that are in hostremove.c. */
int host_remove(struct vnode *v, const char *name, mode_t type);
int host_rename(struct vnode *from, const char *old, struct vnode *to,
		const char *new, unsigned int flags);
/* From now on until n is freed, its file is hidden rather than removed. */
void host_opened(struct hostnode *n);
void host_forget(struct hostnode *n);
bool host_is_hidden(const struct hostnode *n);

/* The operations that are in hostfile.c. */
int hostfile_open(struct vnode *v, struct file *f);
void hostfile_close(struct vnode *v, struct file *f);
ssize_t hostfile_read(struct vnode *v, struct file *f, struct uio *u);
ssize_t hostfile_write(struct vnode *v, struct file *f, struct uio *u);
int hostfile_fsync(struct vnode *v, struct file *f);
int hostfile_getpage(struct vnode *v, off_t offset, bool, void **page);
int hostfile_readdir(struct vnode *dir, struct file *f, off_t *cookie,
		     struct dirent *de);

#endif
