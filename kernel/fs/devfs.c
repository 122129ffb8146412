/*
 * devfs: the files of the devices, in /dev.
 *
 * It keeps nothing: a lookup asks the devices' table, and gives a new vnode
 * that holds what it found. Two opens of one file thus have two vnodes; what
 * they share is the device's own business.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../dev/dev.h"
#include "../proc/proc.h"

#define DEV_DEVFS    2 /* st_dev */
#define INO_ROOT     1
#define DEVICE_SHIFT 8 /* st_rdev, 16 bits: the device; below, its file's id */

#define MODE_READ  0444 /* whoever may, may: there is only root */
#define MODE_WRITE 0222

struct devnode {
	struct vnode vnode;   /* first: the vnode's address is the node's */
	struct vnode_ops ops; /* the device's, and those of this file */
	dev_t number;
	const struct device *device;
	struct devfile file; /* its name isn't kept */
};

static struct timespec boot_time; /* the age of all files here */

static struct devnode *
devnode_of(struct vnode *v)
{
	return (struct devnode *)v;
}

unsigned int
dev_id(const struct vnode *v)
{
	return ((const struct devnode *)v)->file.id;
}

static dev_t
device_number(unsigned int index, unsigned int id)
{
	return (dev_t)(index + 1) << DEVICE_SHIFT | id;
}

/* The file called name of device d: 0, or -ENOENT, or what d says. */
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

/* A cookie, less DIR_COOKIE, is how many files of all devices come before. */
static int
devfs_readdir(struct vnode *, struct file *, off_t *cookie, struct dirent *de)
{
	off_t before = *cookie - DIR_COOKIE;

	for (unsigned int i = 0; devices[i] != NULL; i++)
		for (const struct devfile *f = devices[i]->files; f->name; f++)
			if (before-- == 0) {
				de->d_ino = device_number(i, f->id) + INO_ROOT;
				de->d_type = DT_CHR;
				strlcpy(de->d_name, f->name, sizeof de->d_name);
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
	if (n->device->size != NULL)
		st->st_size = n->device->size(n->file.id);
	return 0;
}

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

static int
devfs_lookup(struct vnode *, const char *name, struct vnode **out)
{
	struct devnode *n = kzalloc(sizeof *n);
	int r = -ENOENT;

	if (n == NULL)
		return -ENOMEM;
	/* Until one has it, or has another reason why it isn't there. */
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
	n->ops.open = devfs_open;
	n->ops.stat = devfs_stat;
	n->ops.free = devfs_free;
	vnode_init(&n->vnode, &n->ops, S_IFCHR);
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
	/* The folder: the one file, number 0, of a device that does nothing. */
	static const struct device no_device;
	static struct devnode root = {
	    .device = &no_device,
	    .file.mode = 0755,
	};

	boot_time = time_of_ns(time_realtime_ns());
	vnode_init(&root.vnode, &folder_ops, S_IFDIR);
	vfs_mount("/dev", &root.vnode);
}
