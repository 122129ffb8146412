/*
 * The file system at /host: a folder of the host's, if the machine has such a
 * device (scripts/run --share). p9.h explains the messages.
 *
 * The fid by which the server knows a file (p9.h) is here the low half of the
 * address of the object that it belongs to, of which there are two kinds:
 *
 *	struct hostnode, a vnode: its fid names the file
 *	struct hostopen, an open file (hostfile.c): its fid is another one of
 *			the same file, which is open for reading or writing
 *
 * An object's fid must be clunked before the object is freed, since its memory,
 * and with that its number, may be used again at once.
 *
 * Each lookup makes a new node, and nothing is remembered. So two nodes may
 * stand for one file. Therefore a program that runs can be written to, as
 * ETXTBSY is counted by vnode; and getcwd returns the name that a directory had
 * when it was entered.
 */
#include "hostfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "mm/kmalloc.h"
#include "sched/time.h"

#include "filesystems.h"
#include "p9.h"
#include "vfs.h"
#include "vnode.h"

#define DEV_HOST 3 /* st_dev */

#define V9FS_MAGIC 0x01021997 /* statfs: a file system by way of 9P */

/* The server's, Linux's, numbers. */
#define GETATTR_BASIC 0x7ff
#define SETATTR_MODE  0x1
#define SETATTR_SIZE  0x8
#define SETATTR_ATIME 0x90 /* to what is said, not to now */
#define SETATTR_MTIME 0x120

static struct hostnode root;

static const struct vnode_ops hostfs_ops;

void
host_clunk(const void *object)
{
	p9_call(P9_CLUNK, NULL, NULL, "", "d", fid_of(object));
}

int
host_clone(const struct hostnode *n, const void *new)
{
	uint64_t reply[P9_REPLIES];

	return p9_call(P9_WALK, NULL, reply, "w", "ddw", fid_of(n), fid_of(new),
		       0);
}

int
host_getattr(const struct hostnode *n, uint64_t reply[P9_REPLIES])
{
	return p9_call(P9_GETATTR, NULL, reply, "qbdqdddqqqqqqqqqqq", "dq",
		       fid_of(n), (unsigned long)GETATTR_BASIC);
}

/* Change those attributes that the bits in valid say; times are in ns. */
static int
setattr(const struct hostnode *n, unsigned int valid, unsigned int mode,
	off_t size, int64_t atime, int64_t mtime)
{
	return p9_call(P9_SETATTR, NULL, NULL, "", "dddddqqqqq", fid_of(n),
		       valid, mode, 0, 0, size, atime / NS_PER_SEC,
		       atime % NS_PER_SEC, mtime / NS_PER_SEC,
		       mtime % NS_PER_SEC);
}

/* --- Names --- */

/* Make n, which is all zeroes, the node of name in dir. The request makes its
 * fid known to the server, unless it fails. */
static int
host_walk_to(struct hostnode *dir, const char *name, struct hostnode *n)
{
	uint64_t reply[P9_REPLIES];
	int r = p9_call(P9_WALK, NULL, reply, "wbdq", "ddws", fid_of(dir),
			fid_of(n), 1, name);

	if (r < 0)
		return r;
	vnode_init(&n->vnode, &hostfs_ops,
		   reply[1] & QTDIR       ? S_IFDIR
		   : reply[1] & QTSYMLINK ? S_IFLNK
					  : S_IFREG);
	n->path = reply[3];
	list_init(&n->opened);
	strlcpy(n->name, name, sizeof(n->name));
	vnode_ref(&dir->vnode);
	n->parent = dir;
	return 0;
}

int
host_lookup(struct vnode *v, const char *name, struct vnode **out)
{
	struct hostnode *dir = hostnode_of(v), *n;
	int r;

	if (strcmp(name, "..") == 0) {
		*out = &dir->parent->vnode;
		vnode_ref(*out);
		return 0;
	}
	n = kzalloc(sizeof(*n));
	r = n != NULL ? host_walk_to(dir, name, n) : -ENOMEM;
	if (r < 0)
		kfree(n);
	else
		*out = &n->vnode;
	return r;
}

/* Free the node, and drop its reference to its parent, and so on up. It is a
 * loop, since folders may be nested too deeply for a kernel stack. It ends at
 * the root at the latest, which the mount has a reference to. */
static void
hostfs_free(struct vnode *v)
{
	struct hostnode *n = hostnode_of(v), *parent;

	host_forget(n);
	do {
		parent = n->parent;
		host_clunk(n);
		kfree(n);
		n = parent;
	} while (__atomic_sub_fetch(&n->vnode.refs, 1, __ATOMIC_ACQ_REL) == 0);
}

/* The set-id bits are never passed on: on the host they would let whoever runs
 * the file act as its owner; here they mean nothing. They are dropped silently,
 * as POSIX allows, so that a copy which keeps modes still succeeds. */
static unsigned int
host_mode(mode_t mode)
{
	return mode & ~(S_ISUID | S_ISGID);
}

/* The server makes a regular file by MKNOD, without opening it. */
static int
hostfs_create(struct vnode *dir, const char *name, mode_t mode,
	      struct vnode **out)
{
	int r;

	if (S_ISDIR(mode))
		r = p9_call(P9_MKDIR, NULL, NULL, "", "dsdd", fid_of(dir), name,
			    host_mode(mode) & 07777, 0);
	else
		r = p9_call(P9_MKNOD, NULL, NULL, "", "dsdddd", fid_of(dir),
			    name, host_mode(mode), 0, 0, 0);
	if (r == 0 && out != NULL)
		r = host_lookup(dir, name, out);
	return r;
}

/* The target is the guest's to follow: /etc is the one here, wherever the link
 * is. */
static int
hostfs_symlink(struct vnode *dir, const char *name, const char *target)
{
	return p9_call(P9_SYMLINK, NULL, NULL, "", "dssd", fid_of(dir), name,
		       target, 0);
}

static ssize_t
hostfs_readlink(struct vnode *v, char *buf, size_t size)
{
	struct p9_data d = {buf, size};
	int r = p9_call(P9_READLINK, &d, NULL, "s", "d", fid_of(v));

	return r < 0 ? r : (ssize_t)d.size;
}

static int
hostfs_link(struct vnode *dir, const char *name, struct vnode *v)
{
	if (v->ops != dir->ops)
		return -EXDEV;
	return p9_call(P9_LINK, NULL, NULL, "", "dds", fid_of(dir), fid_of(v),
		       name);
}

static int
hostfs_name(struct vnode *v, char *buf)
{
	struct hostnode *n = hostnode_of(v);
	uint64_t attr[P9_REPLIES];

	if (host_is_hidden(n))
		return -ENOENT;
	strlcpy(buf, n->name, NAME_MAX_LEN + 1);
	return host_getattr(n, attr); /* is it still there? */
}

/* --- Attributes --- */

static struct timespec
time_in(const uint64_t *attr)
{
	return (struct timespec){.tv_sec = attr[0], .tv_nsec = attr[1]};
}

/* The name that a file is hidden by doesn't count. */
static int
hostfs_stat(struct vnode *v, struct stat *st)
{
	struct hostnode *n = hostnode_of(v);
	uint64_t attr[P9_REPLIES];
	int r = host_getattr(n, attr);

	if (r < 0)
		return r;
	st->st_dev = DEV_HOST;
	st->st_ino = attr[ATTR_PATH];
	st->st_mode = attr[ATTR_MODE];
	st->st_nlink = attr[ATTR_NLINK] - host_is_hidden(n);
	st->st_size = attr[ATTR_SIZE];
	st->st_blksize = p9_io;
	st->st_blocks = attr[ATTR_BLOCKS];
	st->st_atim = time_in(attr + ATTR_ATIME);
	st->st_mtim = time_in(attr + ATTR_MTIME);
	st->st_ctim = time_in(attr + ATTR_CTIME);
	return 0;
}

static int
hostfs_statfs(struct vnode *v, struct statfs *st)
{
	uint64_t reply[P9_REPLIES];
	int r = p9_call(P9_STATFS, NULL, reply, "ddqqqqqqd", "d", fid_of(v));

	if (r < 0)
		return r;
	st->f_type = V9FS_MAGIC; /* and not what the server has in reply[0] */
	st->f_bsize = st->f_frsize = reply[1];
	st->f_blocks = reply[2];
	st->f_bfree = reply[3];
	st->f_bavail = reply[4];
	st->f_files = reply[5];
	st->f_ffree = reply[6];
	return 0;
}

static int
hostfs_truncate(struct vnode *v, off_t size)
{
	return setattr(hostnode_of(v), SETATTR_SIZE, 0, size, 0, 0);
}

/* The owner is the host's, whoever is named: that is no error, as with the
 * set-id bits. */
static int
hostfs_setattr(struct vnode *v, const struct attr *a)
{
	unsigned int valid = (a->mode != OMIT ? SETATTR_MODE : 0) |
			     (a->atime != OMIT ? SETATTR_ATIME : 0) |
			     (a->mtime != OMIT ? SETATTR_MTIME : 0);

	return setattr(hostnode_of(v), valid, host_mode(a->mode), 0, a->atime,
		       a->mtime);
}

static const struct vnode_ops hostfs_ops = {
    .lookup = host_lookup,
    .create = hostfs_create,
    .symlink = hostfs_symlink,
    .readlink = hostfs_readlink,
    .link = hostfs_link,
    .remove = host_remove,
    .rename = host_rename,
    .name = hostfs_name,
    .readdir = hostfile_readdir,
    .open = hostfile_open,
    .close = hostfile_close,
    .read = hostfile_read,
    .write = hostfile_write,
    .fsync = hostfile_fsync,
    .getpage = hostfile_getpage,
    .stat = hostfs_stat,
    .statfs = hostfs_statfs,
    .truncate = hostfs_truncate,
    .setattr = hostfs_setattr,
    .free = hostfs_free,
};

void
hostfs_init(void)
{
	if (!p9_init(fid_of(&root), &root.path))
		return;
	vnode_init(&root.vnode, &hostfs_ops, S_IFDIR);
	root.parent = &root;
	vfs_mount("/host", &root.vnode);
}
