/* What files and file systems are: stat in its forms, and statfs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/layout.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/thread.h"

#include "where.h"

/* statfs: what Linux calls file systems like / and /dev, and pipes. */
#define TMPFS_MAGIC  0x01021994
#define PIPEFS_MAGIC 0x50495045

long
sys_fstat(const unsigned long *arg)
{
	struct file *f = fd_get(current->proc->fds, arg[0]);
	struct stat st;
	int r;

	if (f == NULL)
		return -EBADF;
	r = vnode_stat(f->vnode, &st);
	file_put(f);
	return r < 0 ? r : copy_out(arg[1], &st, sizeof(st));
}

/* stat of what a path names, or with AT_EMPTY_PATH a descriptor. */
static int
stat_path(int dir, uintptr_t path, int flags, struct stat *st)
{
	struct vnode *v;
	int r = where_lookup(dir, path, flags, &v);

	if (r < 0)
		return r;
	r = vnode_stat(v, st);
	vnode_put(v);
	return r;
}

/* newfstatat(dir, path, struct stat *, flags) */
long
sys_newfstatat(const unsigned long *arg)
{
	int flags = arg[3], r;
	struct stat st;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
		return -EINVAL;
	r = stat_path(arg[0], arg[1], flags, &st);
	return r < 0 ? r : copy_out(arg[2], &st, sizeof(st));
}

/* The two parts of st_dev and st_rdev, whose bits lie as C libraries have
 * them. */
static uint32_t
major_of(uint64_t dev)
{
	return (dev >> 8 & 0xfff) | (dev >> 32 & ~0xfff);
}

static uint32_t
minor_of(uint64_t dev)
{
	return (dev & 0xff) | (dev >> 12 & ~0xff);
}

static struct statx_timestamp
statx_time(struct timespec t)
{
	return (struct statx_timestamp){.tv_sec = t.tv_sec,
					.tv_nsec = t.tv_nsec};
}

/* statx(dir, path, flags, mask, struct statx *): whatever the mask asks for,
 * the answer is what struct stat has. */
long
sys_statx(const unsigned long *arg)
{
	const int known = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
			  AT_EMPTY_PATH | AT_STATX_SYNC_TYPE;
	int flags = arg[2], r;
	struct statx x = {.stx_mask = STATX_BASIC_STATS};
	struct stat st;

	if (flags & ~known || arg[3] & STATX__RESERVED ||
	    (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE)
		return -EINVAL;
	r = stat_path(arg[0], arg[1], flags, &st);
	if (r < 0)
		return r;
	x.stx_blksize = st.st_blksize;
	x.stx_nlink = st.st_nlink;
	x.stx_uid = st.st_uid;
	x.stx_gid = st.st_gid;
	x.stx_mode = st.st_mode;
	x.stx_ino = st.st_ino;
	x.stx_size = st.st_size;
	x.stx_blocks = st.st_blocks;
	x.stx_atime = statx_time(st.st_atim);
	x.stx_ctime = statx_time(st.st_ctim);
	x.stx_mtime = statx_time(st.st_mtim);
	x.stx_rdev_major = major_of(st.st_rdev);
	x.stx_rdev_minor = minor_of(st.st_rdev);
	x.stx_dev_major = major_of(st.st_dev);
	x.stx_dev_minor = minor_of(st.st_dev);
	return copy_out(arg[4], &x, sizeof(x));
}

/* Tell of the file system of v, and drop the reference to that. */
static long
statfs_of(struct vnode *v, uintptr_t user)
{
	struct statfs st = {
	    .f_type = v->type == S_IFIFO ? PIPEFS_MAGIC : TMPFS_MAGIC,
	    .f_bsize = PAGE_SIZE,
	    .f_frsize = PAGE_SIZE,
	    .f_namelen = NAME_MAX_LEN,
	};
	int r = v->ops->statfs != NULL ? v->ops->statfs(v, &st) : 0;

	vnode_put(v);
	return r < 0 ? r : copy_out(user, &st, sizeof(st));
}

long
sys_statfs(const unsigned long *arg)
{
	struct vnode *v;
	int r = where_lookup(AT_FDCWD, arg[0], 0, &v);

	return r < 0 ? r : statfs_of(v, arg[1]);
}

long
sys_fstatfs(const unsigned long *arg)
{
	struct vnode *v;
	int r = where_fd(arg[0], &v);

	return r < 0 ? r : statfs_of(v, arg[1]);
}
