/*
 * devfs: the files of the devices, in /dev.
 *
 * It is one directory, and keeps nothing: each lookup searches the table of
 * devices and returns a new vnode. So two opens of one file have two vnodes;
 * whatever they share is kept by the device itself. Since the table never
 * changes and vnodes aren't shared, there is no lock here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/layout.h"
#include "mm/kmalloc.h"
#include "sched/time.h"

#include "device.h"
#include "file.h"
#include "filesystems.h"
#include "vfs.h"
#include "vnode.h"

#define DEV_DEVFS    2 /* st_dev */
#define INO_ROOT     1
#define DEVICE_SHIFT 8 /* st_rdev, 16 bits: the device; below, its file's id */

/* There are no users but root: any of the three bits allows it. */
#define MODE_READ  0444
#define MODE_WRITE 0222

/* A node has operations of its own, as its vnode must point at one table: most
 * of these are the device's; open, stat, free and those on names are of this
 * file, and read and write, if the device has none. */
struct devnode {
	struct vnode vnode; /* first: the vnode's address is the node's */
	struct vnode_ops ops;
	dev_t number;
	const struct device *device;
	struct devfile file;
};

static struct timespec boot_time; /* the age of all files here */

static struct devnode *
devnode_of(struct vnode *v)
{
	return (struct devnode *)v;
}

unsigned int
device_id(const struct vnode *v)
{
	return ((const struct devnode *)v)->file.id;
}

/* The number of a file: 1 + its device's place in the table, and below that its
 * id. The root is number 0. An inode number is one more. */
static dev_t
device_number(unsigned int index, unsigned int id)
{
	return (dev_t)(index + 1) << DEVICE_SHIFT | id;
}

/* Find d's file called name: 0 and *out; or what d says about that name, such
 * as prf's ENXIO for the file of a hart that doesn't exist; or -ENOENT. */
static int
device_find(const struct device *d, const char *name, struct devfile *out)
{
	for (const struct devfile *f = d->files; f->name; f++)
		if (strcmp(f->name, name) == 0) {
			*out = *f;
			return 0;
		}
	return d->missing != NULL ? d->missing(name) : -ENOENT;
}

/* A cookie less DIR_COOKIE is how many files, of all devices, come before. */
static int
devfs_readdir(struct vnode *, struct file *, off_t *cookie, struct dirent *de)
{
	off_t before = *cookie - DIR_COOKIE;

	for (unsigned int i = 0; devices[i] != NULL; i++)
		for (const struct devfile *f = devices[i]->files; f->name; f++)
			if (before-- == 0) {
				de->d_ino = device_number(i, f->id) + INO_ROOT;
				de->d_type = f->link ? DT_LNK : DT_CHR;
				strlcpy(de->d_name, f->name,
					sizeof(de->d_name));
				++*cookie;
				return 1;
			}
	return 0;
}

static int
devfs_stat(struct vnode *v, struct stat *st)
{
	struct devnode *n = devnode_of(v);

	st->st_dev = DEV_DEVFS;
	st->st_rdev = n->number;
	st->st_ino = n->number + INO_ROOT;
	st->st_mode = v->type | n->file.mode;
	st->st_nlink = v->type == S_IFDIR ? 2 : 1;
	st->st_blksize = PAGE_SIZE;
	st->st_atim = st->st_mtim = st->st_ctim = boot_time;
	if (n->file.link != NULL)
		st->st_size = strlen(n->file.link);
	else if (n->device->size != NULL)
		st->st_size = n->device->size(n->file.id);
	return 0;
}

/* For a device that has no read, or no write, but a mode that allows it. */
static ssize_t
devfs_refuse(struct vnode *, struct file *, struct uio *)
{
	return -EINVAL;
}

/* The mode counts even for root. */
static int
devfs_open(struct vnode *v, struct file *f)
{
	struct devnode *n = devnode_of(v);
	int access = f->flags & O_ACCMODE;

	if (access != O_WRONLY && !(n->file.mode & MODE_READ))
		return -EACCES;
	if (access != O_RDONLY && !(n->file.mode & MODE_WRITE))
		return -EACCES;
	return n->device->ops.open ? n->device->ops.open(v, f) : 0;
}

static void
devfs_free(struct vnode *v)
{
	kfree(devnode_of(v));
}

/* The root is a devnode too, so that stat works on it. */
static const struct device no_device;
static struct devnode root = {
    .device = &no_device,
    .file.mode = 0755,
};

/* A file is asked for ".." only. */
static int
devfs_up(struct vnode *, const char *, struct vnode **out)
{
	*out = &root.vnode;
	vnode_ref(*out);
	return 0;
}

static int
devfs_name(struct vnode *v, char *buf)
{
	strlcpy(buf, devnode_of(v)->file.name, NAME_MAX_LEN + 1);
	return 0;
}

static ssize_t
devfs_readlink(struct vnode *v, char *buf, size_t size)
{
	const char *target = devnode_of(v)->file.link;
	size_t n = strlen(target);

	if (n > size)
		n = size;
	memcpy(buf, target, n);
	return n;
}

static int
devfs_lookup(struct vnode *, const char *name, struct vnode **out)
{
	struct devnode *n = kzalloc(sizeof(*n));
	int r = -ENOENT;

	if (n == NULL)
		return -ENOMEM;
	/* Until a device has it, or says by another errno why it hasn't. */
	for (unsigned int i = 0; r == -ENOENT && devices[i] != NULL; i++) {
		n->device = devices[i];
		r = device_find(n->device, name, &n->file);
		n->number = device_number(i, n->file.id);
	}
	if (r < 0) {
		kfree(n);
		return r;
	}
	n->ops = n->device->ops;
	n->ops.lookup = devfs_up;
	n->ops.name = devfs_name;
	n->ops.readlink = devfs_readlink;
	n->ops.open = devfs_open;
	n->ops.stat = devfs_stat;
	n->ops.free = devfs_free;
	if (n->ops.read == NULL)
		n->ops.read = devfs_refuse;
	if (n->ops.write == NULL)
		n->ops.write = devfs_refuse;
	vnode_init(&n->vnode, &n->ops, n->file.link ? S_IFLNK : S_IFCHR);
	n->vnode.stream = n->device->stream;
	*out = &n->vnode;
	return 0;
}

static const struct vnode_ops folder_ops = {
    .lookup = devfs_lookup,
    .readdir = devfs_readdir,
    .stat = devfs_stat,
};

void
devfs_init(void)
{
	boot_time = time_of_ns(time_realtime_ns());
	vnode_init(&root.vnode, &folder_ops, S_IFDIR);
	vfs_mount("/dev", &root.vnode);
}
