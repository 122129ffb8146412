/*
 * ramfs: files, directories and symbolic links, and what is done with their
 * names. ramname.c has the names of a directory, ramfile.c the contents of
 * files.
 *
 * A name leads to a node, and has a reference to it. A file may have several
 * names (hard links), a directory has one; what has none was removed, and lives
 * as long as somebody has it open.
 *
 * One spinlock, ramfs_lock, guards the names of all directories. So a rename
 * changes the whole tree in one step for all who look. Under it a lookup visits
 * a few names; the longest are a rename, which follows one path up to the root,
 * and a readdir that has to start over. Memory is allocated before the lock is
 * taken, and references are dropped after it is released.
 */
#include "ramfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/layout.h"
#include "base/list.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"
#include "sched/time.h"

#include "file.h"
#include "filesystems.h"
#include "vnode.h"
#include "walk.h"

#define DEV_RAMFS 1 /* st_dev */

struct spinlock ramfs_lock = SPINLOCK1("ramfs");
static unsigned long last_ino; /* atomic */

static const struct vnode_ops ramdir_ops, ramlink_ops;

/* The directory that n is in: the root's is itself; NULL: n was removed. Of a
 * file with several names it is that of the first. The caller holds
 * ramfs_lock. */
static struct ramname *
first_name(const struct ramnode *n)
{
	if (list_empty(&n->names))
		return NULL;
	return container_of(n->names.next, struct ramname, other);
}

static struct ramnode *
parent_of(const struct ramnode *n)
{
	struct ramname *e = first_name(n);

	return e != NULL ? e->dir : NULL;
}

/* A node of the type in mode, which has no name yet; NULL: no memory. */
static struct ramnode *
node_create(mode_t mode)
{
	struct ramnode *n = kzalloc(sizeof(*n));
	const struct vnode_ops *ops = &ramfile_ops;

	if (n == NULL)
		return NULL;
	if (S_ISDIR(mode))
		ops = &ramdir_ops;
	else if (S_ISLNK(mode))
		ops = &ramlink_ops;
	vnode_init(&n->vnode, ops, mode & S_IFMT);
	n->lock = (struct mutex)MUTEX("ramfs file", n->lock);
	n->page_lock = (struct spinlock)SPINLOCK1("ramfs pages");
	n->ino = __atomic_add_fetch(&last_ino, 1, __ATOMIC_RELAXED);
	n->mode = mode;
	n->atime = n->mtime = n->ctime = time_realtime_ns();
	list_init(&n->names);
	list_init(&n->children);
	n->cursor = &n->children;
	return n;
}

void
ramnode_free(struct vnode *v)
{
	struct ramnode *n = ramnode_of(v);

	ramfile_clear(n);
	kfree(n->target);
	kfree(n);
}

/* Let dir have n by a new name, with a reference of its own. */
static int
node_name(struct ramnode *dir, const char *name, struct ramnode *n)
{
	struct ramname *e = ramname_create(name);
	int r = 0;

	if (e == NULL)
		return -ENOSPC;
	spin_lock(&ramfs_lock);
	if (parent_of(dir) == NULL)
		r = -ENOENT; /* dir was removed */
	else if (ramname_find(dir, name) != NULL)
		r = -EEXIST;
	else
		ramname_add(dir, e, n);
	if (r == 0)
		vnode_ref(&n->vnode);
	spin_unlock(&ramfs_lock);
	if (r < 0)
		kfree(e);
	return r;
}

struct vnode *
ramfs_unnamed(off_t size)
{
	struct ramnode *n = node_create(S_IFREG | 0600);

	if (n == NULL)
		return NULL;
	n->size = size;
	return &n->vnode;
}

/* The caller's reference becomes that of *out, or is dropped. */
static int
ramfs_create(struct vnode *dir, const char *name, mode_t mode,
	     struct vnode **out)
{
	struct ramnode *n = node_create(mode);
	int r = n != NULL ? node_name(ramnode_of(dir), name, n) : -ENOSPC;

	if (r == 0 && out != NULL)
		*out = &n->vnode;
	else if (n != NULL)
		vnode_put(&n->vnode);
	return r;
}

/* A target takes memory as names do. */
static int
ramfs_symlink(struct vnode *dir, const char *name, const char *target)
{
	struct ramnode *n = node_create(S_IFLNK | 0777);
	size_t size = strlen(target);
	int r = -ENOSPC;

	if (n == NULL)
		return r;
	if (page_spare(1, LEFT_BY_NAMES))
		n->target = kmalloc(size + 1);
	if (n->target != NULL) {
		memcpy(n->target, target, size + 1);
		n->size = size;
		r = node_name(ramnode_of(dir), name, n);
	}
	vnode_put(&n->vnode);
	return r;
}

static ssize_t
ramlink_read(struct vnode *v, char *buf, size_t size)
{
	struct ramnode *n = ramnode_of(v);

	if (size > (size_t)n->size)
		size = n->size;
	memcpy(buf, n->target, size);
	return size;
}

/* What was removed, and is only open, gets no name again. If its last one goes
 * just now, then this call came before. */
static int
ramfs_link(struct vnode *dir, const char *name, struct vnode *v)
{
	if (v->ops != &ramfile_ops && v->ops != &ramlink_ops)
		return -EXDEV;
	if (__atomic_load_n(&ramnode_of(v)->links, __ATOMIC_RELAXED) == 0)
		return -ENOENT;
	return node_name(ramnode_of(dir), name, ramnode_of(v));
}

/* A name that is found under the lock has a reference to its node, which keeps
 * that until another is taken. So it is with the parent of one that has a name,
 * as only empty directories are removed. What was removed has none: ENOENT. */
int
ramnode_lookup(struct vnode *dir, const char *name, struct vnode **out)
{
	struct ramnode *d = ramnode_of(dir), *n;

	spin_lock(&ramfs_lock);
	if (is_dots(name)) {
		n = parent_of(d);
	} else {
		struct ramname *e = ramname_find(d, name);

		n = e != NULL ? e->node : NULL;
	}
	if (n != NULL)
		vnode_ref(&n->vnode);
	spin_unlock(&ramfs_lock);
	if (n == NULL)
		return -ENOENT;
	*out = &n->vnode;
	return 0;
}

/* May the name e, NULL if there is none, be removed by rmdir (type S_IFDIR) or
 * unlink? The caller holds ramfs_lock. */
static int
ramfs_check_remove(const struct ramname *e, mode_t type)
{
	if (e == NULL)
		return -ENOENT;
	if (type != S_IFDIR)
		return is_ramdir(e->node) ? -EISDIR : 0;
	if (!is_ramdir(e->node))
		return -ENOTDIR;
	if (e->node->vnode.mounted != NULL)
		return -EBUSY;
	return list_empty(&e->node->children) ? 0 : -ENOTEMPTY;
}

static int
ramfs_remove(struct vnode *dir, const char *name, mode_t type)
{
	struct ramname *e;
	int r;

	spin_lock(&ramfs_lock);
	e = ramname_find(ramnode_of(dir), name);
	r = ramfs_check_remove(e, type);
	if (r == 0)
		ramname_remove(e);
	spin_unlock(&ramfs_lock);
	if (r < 0)
		return r;
	vnode_put(&e->node->vnode);
	kfree(e);
	return 0;
}

/* Is the directory n on the path from d up to the root, which is its own
 * parent? All of that path exists, as only empty directories are removed. */
static bool
is_above(const struct ramnode *n, const struct ramnode *d)
{
	while (d != n && d != parent_of(d))
		d = parent_of(d);
	return d == n;
}

/*
 * May e be moved to the directory `to`, in the place of old (NULL: nothing), as
 * the flags of renameat2 say? A directory can't be moved below itself: it would
 * be cut off from the root. The caller holds ramfs_lock.
 */
static int
check_rename(const struct ramname *e, const struct ramnode *to,
	     const struct ramname *old, unsigned int flags)
{
	bool exchange = flags & RENAME_EXCHANGE;

	if (e == NULL || parent_of(to) == NULL || (exchange && old == NULL))
		return -ENOENT;
	if (old != NULL && flags & RENAME_NOREPLACE)
		return -EEXIST;
	if (is_ramdir(e->node) && is_above(e->node, to))
		return -EINVAL;
	if (old != NULL && is_ramdir(old->node) && is_above(old->node, e->dir))
		return exchange ? -EINVAL : -ENOTEMPTY;
	if (e->node->vnode.mounted != NULL)
		return -EBUSY;
	if (old == NULL || old->node == e->node)
		return 0;
	if (exchange)
		return old->node->vnode.mounted != NULL ? -EBUSY : 0;
	if (is_ramdir(old->node) && !is_ramdir(e->node))
		return -EISDIR;
	return is_ramdir(e->node) ? ramfs_check_remove(old, S_IFDIR) : 0;
}

/* The new name takes over the reference of e, which is out of use then. The
 * caller holds ramfs_lock, and frees e and old when it has released it. */
static void
move_name(struct ramname *e, struct ramnode *to, struct ramname *new,
	  struct ramname *old)
{
	struct ramnode *n = e->node;

	if (old != NULL)
		ramname_remove(old);
	ramname_remove(e);
	ramname_add(to, new, n);
}

/* If both names lead to the same file, nothing is to be done. */
static int
ramfs_rename(struct vnode *from, const char *name, struct vnode *to,
	     const char *new_name, unsigned int flags)
{
	struct ramname *new = ramname_create(new_name), *e, *old, *gone = NULL;
	int r;

	if (new == NULL)
		return -ENOSPC;
	spin_lock(&ramfs_lock);
	e = ramname_find(ramnode_of(from), name);
	old = ramname_find(ramnode_of(to), new_name);
	r = check_rename(e, ramnode_of(to), old, flags);
	if (r == 0 && (old == NULL || old->node != e->node)) {
		if (flags & RENAME_EXCHANGE) {
			ramname_exchange(e, old);
		} else {
			move_name(e, ramnode_of(to), new, old);
			new = e;
			gone = old;
		}
	}
	spin_unlock(&ramfs_lock);
	kfree(new);
	if (gone != NULL) {
		vnode_put(&gone->node->vnode);
		kfree(gone);
	}
	return r;
}

static int
ramfs_readdir(struct vnode *dir, struct file *, off_t *cookie,
	      struct dirent *de)
{
	struct ramname *e;

	spin_lock(&ramfs_lock);
	e = ramname_at(ramnode_of(dir), *cookie);
	if (e != NULL) {
		de->d_ino = e->node->ino;
		de->d_type = IFTODT(e->node->mode);
		strlcpy(de->d_name, e->text, sizeof(de->d_name));
		*cookie = e->cookie + 1;
	}
	spin_unlock(&ramfs_lock);
	return e != NULL;
}

int
ramnode_name(struct vnode *v, char *buf)
{
	struct ramname *e;

	spin_lock(&ramfs_lock);
	e = first_name(ramnode_of(v));
	if (e != NULL)
		strlcpy(buf, e->text, NAME_MAX_LEN + 1);
	spin_unlock(&ramfs_lock);
	return e != NULL ? 0 : -ENOENT;
}

/* A directory's links are its name, its own "." and the ".." of each directory
 * in it; what was removed has none. The other fields are loaded without a lock,
 * so size and blocks of a file that is being written may be of two moments. */
int
ramnode_stat(struct vnode *v, struct stat *st)
{
	struct ramnode *n = ramnode_of(v);

	st->st_dev = DEV_RAMFS;
	st->st_ino = n->ino;
	st->st_mode = n->mode;
	spin_lock(&ramfs_lock);
	st->st_nlink = n->links;
	if (is_ramdir(n) && n->links != 0)
		st->st_nlink = 2 + n->subdirs;
	spin_unlock(&ramfs_lock);
	st->st_uid = n->uid;
	st->st_gid = n->gid;
	st->st_size = n->size;
	st->st_blksize = PAGE_SIZE;
	st->st_blocks = n->npages * (PAGE_SIZE / 512);
	st->st_atim = time_of_ns(n->atime);
	st->st_mtim = time_of_ns(n->mtime);
	st->st_ctim = time_of_ns(n->ctime);
	return 0;
}

/* All pages count as the file system's, also those that programs have. */
int
ramnode_statfs(struct vnode *, struct statfs *st)
{
	st->f_blocks = page_count_total();
	st->f_bfree = st->f_bavail = page_count_free();
	return 0;
}

/* Whoever gets a new owner loses the bits that make a program act as that. */
int
ramnode_setattr(struct vnode *v, const struct attr *a)
{
	struct ramnode *n = ramnode_of(v);

	if (a->mode != OMIT)
		n->mode = v->type | a->mode;
	if ((a->uid != OMIT || a->gid != OMIT) && !is_ramdir(n))
		n->mode &= ~(n->mode & S_IXGRP ? S_ISUID | S_ISGID : S_ISUID);
	if (a->uid != OMIT)
		n->uid = a->uid;
	if (a->gid != OMIT)
		n->gid = a->gid;
	if (a->atime != OMIT)
		n->atime = a->atime;
	if (a->mtime != OMIT)
		n->mtime = a->mtime;
	n->ctime = time_realtime_ns();
	return 0;
}

static const struct vnode_ops ramdir_ops = {
    .lookup = ramnode_lookup,
    .create = ramfs_create,
    .symlink = ramfs_symlink,
    .link = ramfs_link,
    .remove = ramfs_remove,
    .rename = ramfs_rename,
    .name = ramnode_name,
    .readdir = ramfs_readdir,
    .stat = ramnode_stat,
    .statfs = ramnode_statfs,
    .setattr = ramnode_setattr,
    .free = ramnode_free,
};

static const struct vnode_ops ramlink_ops = {
    .lookup = ramnode_lookup,
    .name = ramnode_name,
    .readlink = ramlink_read,
    .stat = ramnode_stat,
    .statfs = ramnode_statfs,
    .setattr = ramnode_setattr,
    .free = ramnode_free,
};

/* The root is its own parent: this ends every way up, and tells it from a
 * directory that was removed, which has none. Its name is in no directory. */
struct vnode *
ramfs_root(void)
{
	struct ramnode *n = node_create(S_IFDIR | 0755);
	struct ramname *e = ramname_create("");

	if (n == NULL || e == NULL)
		return NULL;
	e->node = e->dir = n;
	list_append(&n->names, &e->other);
	n->links = 1;
	return &n->vnode;
}
