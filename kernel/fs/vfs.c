/*
 * Vnodes, and the calls that make, open and remove names. How a path is
 * walked: walk.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../machine.h"
#include "../print.h"
#include "../proc/proc.h"
#include "walk.h"

struct vnode *vfs_root;

void
vnode_init(struct vnode *v, const struct vnode_ops *ops, mode_t type)
{
	*v = (struct vnode){.ops = ops, .refs = 1, .type = type};
}

void
vnode_put(struct vnode *v)
{
	if (__atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) == 0)
		v->ops->free(v);
}

ssize_t
vnode_read(struct vnode *v, void *buf, size_t n, off_t offset)
{
	struct uio u = {
	    .base = (uintptr_t)buf,
	    .left = n,
	    .offset = offset,
	    .kernel = true,
	};

	if (v->type != S_IFREG)
		return -EINVAL;
	return v->ops->read(v, NULL, &u);
}

int
vnode_stat(struct vnode *v, struct stat *st)
{
	memset(st, 0, sizeof *st);
	return v->ops->stat(v, st);
}

/* Make what w names, of mode's type. */
static int
create_last(struct walk *w, mode_t mode, struct vnode **out)
{
	if (w->dir->ops->create == NULL)
		return -EROFS;
	if (current->proc != NULL)
		mode &= ~current->proc->umask;
	return w->dir->ops->create(w->dir, w->name, mode, out);
}

/* Make the file that w names; it didn't exist a moment ago. */
static int
create_file(struct walk *w, mode_t mode, struct vnode **out)
{
	if (is_dots(w->name))
		return -ENOENT;
	if (w->slash)
		return -EISDIR;
	return create_last(w, S_IFREG | (mode & 07777), out);
}

/* For O_CREAT: find path, or make it. If another makes it between our look
 * and our attempt, look again. */
static int
find_or_create(const char *path, bool exclusive, mode_t mode,
	       struct vnode **out)
{
	struct walk w;
	int r = walk(path, &w);

	if (r < 0)
		return r;
	do {
		r = walk_last(&w);
		if (r == 0 && !exclusive) {
			*out = w.dir;
			return 0;
		}
		if (r == 0)
			r = -EEXIST;
		else if (r == -ENOENT)
			r = create_file(&w, mode, out);
	} while (r == -EEXIST && !exclusive);
	vnode_put(w.dir);
	return r;
}

/* May v be opened with these flags? */
static int
check_open(const struct vnode *v, int flags)
{
	bool write = (flags & O_ACCMODE) != O_RDONLY;

	if (v->type == S_IFDIR)
		return write || flags & O_CREAT ? -EISDIR : 0;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if (write && __atomic_load_n(&v->texts, __ATOMIC_RELAXED) != 0)
		return -ETXTBSY;
	return 0;
}

int
vfs_open(struct file *f, const char *path, int flags, mode_t mode)
{
	struct vnode *v;
	int r;

	if ((flags & O_ACCMODE) == O_ACCMODE ||
	    (flags & O_CREAT && flags & O_DIRECTORY))
		return -EINVAL;
	if (flags & O_CREAT)
		r = find_or_create(path, flags & O_EXCL, mode, &v);
	else
		r = vfs_lookup(path, &v);
	if (r < 0)
		return r;
	r = check_open(v, flags);
	if (r == 0)
		r = file_open(f, v, flags);
	if (r < 0) {
		vnode_put(v);
		return r;
	}
	/* Last, as it can't be undone. If it fails, f is open all the same,
	 * and closed by who has it. */
	if (flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY &&
	    v->type == S_IFREG)
		return vfs_truncate(v, 0);
	return 0;
}

int
vfs_mkdir(const char *path, mode_t mode)
{
	struct walk w;
	int r = walk(path, &w);

	if (r < 0)
		return r;
	r = -EEXIST;
	if (w.name[0] != '\0' && !is_dots(w.name))
		r = create_last(&w, S_IFDIR | (mode & 07777), NULL);
	vnode_put(w.dir);
	return r;
}

/* May what w names be removed, from its name? */
static int
check_remove(struct walk *w, mode_t type)
{
	int r;

	if (type == S_IFDIR) {
		if (w->name[0] == '\0')
			return -EBUSY;
		if (is_dots(w->name))
			return w->name[1] == '\0' ? -EINVAL : -ENOTEMPTY;
		return 0;
	}
	if (w->name[0] == '\0' || is_dots(w->name))
		return -EPERM;
	if (!w->slash)
		return 0;
	/* It is a directory, or it's an error anyway. */
	r = walk_last(w);
	return r < 0 ? r : -EPERM;
}

int
vfs_remove(const char *path, mode_t type)
{
	struct walk w;
	int r = walk(path, &w);

	if (r < 0)
		return r;
	r = check_remove(&w, type);
	if (r == 0)
		r = w.dir->ops->remove != NULL
			? w.dir->ops->remove(w.dir, w.name, type)
			: -EROFS;
	vnode_put(w.dir);
	return r;
}

/* Rename between two walks' ends. */
static int
rename_last(struct walk *from, struct walk *to)
{
	struct vnode *v;
	int r;

	if (from->name[0] == '\0' || to->name[0] == '\0')
		return -EBUSY;
	if (is_dots(from->name) || is_dots(to->name))
		return -EINVAL;
	/* A file system has one table for its directories. */
	if (from->dir->ops != to->dir->ops)
		return -EXDEV;
	if (from->dir->ops->rename == NULL)
		return -EROFS;
	if (from->slash || to->slash) {
		/* Only a directory may be written with a slash. */
		r = from->dir->ops->lookup(from->dir, from->name, &v);
		if (r < 0)
			return r;
		r = v->type == S_IFDIR ? 0 : -ENOTDIR;
		vnode_put(v);
		if (r < 0)
			return r;
	}
	return from->dir->ops->rename(from->dir, from->name, to->dir, to->name);
}

int
vfs_rename(const char *old, const char *new)
{
	struct walk from, to;
	int r = walk(old, &from);

	if (r < 0)
		return r;
	r = walk(new, &to);
	if (r == 0) {
		r = rename_last(&from, &to);
		vnode_put(to.dir);
	}
	vnode_put(from.dir);
	return r;
}

int
vfs_truncate(struct vnode *v, off_t size)
{
	if (size < 0 || v->ops->truncate == NULL)
		return -EINVAL;
	if (__atomic_load_n(&v->texts, __ATOMIC_RELAXED) != 0)
		return -ETXTBSY;
	return v->ops->truncate(v, size);
}

int
vfs_dots(struct vnode *dir, off_t *cookie, struct dirent *de)
{
	static const char *const dots[DIR_COOKIE] = {".", ".."};
	struct stat st;
	int r;

	vnode_ref(dir);
	r = walk_step(&dir, dots[*cookie]);
	if (r == 0)
		r = vnode_stat(dir, &st);
	vnode_put(dir);
	if (r < 0)
		return r;
	de->d_ino = st.st_ino;
	de->d_type = DT_DIR;
	strlcpy(de->d_name, dots[*cookie], sizeof de->d_name);
	++*cookie;
	return 1;
}

void
vfs_mount(const char *path, struct vnode *fs)
{
	struct vnode *v;
	int r = vfs_mkdir(path, 0755);

	if (r == 0 || r == -EEXIST)
		r = vfs_lookup(path, &v);
	if (r == 0 && v->type != S_IFDIR)
		r = -ENOTDIR;
	if (r < 0)
		panic("can't mount %s: error %d", path, -r);
	/* In this order: who finds the mount finds the way back too. */
	fs->covered = v;
	__atomic_store_n(&v->mounted, fs, __ATOMIC_RELEASE);
}

void
vfs_init(void)
{
	size_t size = machine.initrd_end - machine.initrd_start;

	vfs_root = ramfs_root();
	if (vfs_root == NULL)
		panic("no memory for the root directory");
	ustar_unpack(pa_to_va(machine.initrd_start), size);
	page_add(machine.initrd_start, machine.initrd_end);
	devfs_init();
}
