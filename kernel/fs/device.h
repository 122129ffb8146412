/*
 * Devices. A device is a source file in dev/, tty/ or fs/ that ends in
 * one const struct device, and two lines in main.c that add it to the table of
 * all devices. Its files then appear in /dev: devfs.c turns each into a vnode.
 * null.c is the smallest example.
 */
#ifndef KERNEL_DEVICE_H
#define KERNEL_DEVICE_H

#include "vnode.h"

struct devfile {
	const char *name;
	unsigned int id;
	mode_t mode;      /* permission bits; checked by open */
	const char *link; /* where it leads, if it is a symbolic link */
};

/* All but files may be left out; the default is named beside each. */
struct device {
	const struct devfile *files; /* the last has a NULL name */
	bool stream;        /* lseek, pread and pwrite fail with ESPIPE */
	void (*init)(void); /* nothing */
	int (*missing)(const char *name); /* open's errno for a name that is
					   * none of its files'; ENOENT */
	off_t (*size)(unsigned int id);   /* 0, for stat */
	/* devfs puts its own open, stat and free in their place, and calls this
	 * open when the file's mode allows what is asked. A device keeps no
	 * offset: read and write use u->offset. Without one of these it is
	 * EINVAL. */
	struct vnode_ops ops;
};

/* The id of v, a vnode of devfs: which of its device's files it is. */
unsigned int device_id(const struct vnode *v);

/* All devices; the last is NULL. main.c sets this before vfs_init. */
extern const struct device *const *devices;
void devices_init(void); /* call init of each that has one; at boot */

/*
 * The operation read of a short text, made anew for each read. Its counts may
 * have more digits by the next one: a reader that got "skipped 99\n" and reads
 * on at offset 11 would find a stray newline, that of "skipped 100\n". So the
 * file ends where it ended when its start was read; f remembers that size.
 */
ssize_t device_read_text(struct file *f, struct uio *u, const char *text,
			 size_t size);

#endif
