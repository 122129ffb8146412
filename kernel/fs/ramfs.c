/*
 * ramfs, the tree: names, directories, what stat tells.
 *
 * A directory has its children twice: in a binary tree, to find one by name,
 * and in a list in the order in which they came, for readdir.
 *
 * The tree is ordered by the bits of the names' hashes. At the top, bit 0 of
 * the hash looked for says whether to go to branch 0 or 1; one level below it
 * is bit 1, and so on. Every node is a child itself, and the search ends at the
 * one with the right name. For example, with four children whose hashes end in
 * the bits ..010, ..011, ..000 and ..110, added in this order:
 *
 *		..010			the first child
 *		/     \			bit 0
 *	    ..000    ..011
 *	        \			bit 1
 *	        ..110
 *
 * So an empty directory costs nothing, a big one a few words for each child,
 * and nothing is ever built anew as a directory grows. The hash has a secret
 * key, so nobody can choose names that make one long branch.
 *
 * One spinlock, ramfs_lock, guards the trees and lists of all directories. So a
 * rename changes the whole tree in one step for all who look. Under it a lookup
 * visits a few nodes; the longest are a rename, which follows one path up to
 * the root, and a readdir that has to start over. Memory is allocated before
 * the lock is taken, and references are dropped after it is released.
 */
#include "ramfs.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "base/list.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"
#include "sched/time.h"

#include "file.h"
#include "filesystems.h"
#include "vnode.h"

#define DEV_RAMFS 1 /* st_dev */

static struct spinlock ramfs_lock = SPINLOCK1("ramfs");
static off_t next_cookie GUARDED_BY(ramfs_lock) = DIR_COOKIE;
static unsigned long last_ino; /* atomic */

static const struct vnode_ops ramdir_ops;

/* Each byte goes through a 128-bit product, whose halves are combined; so any
 * bit of the name may change any bit of the hash, in a way that depends on the
 * key, which machine.c makes from a random seed. */
static uint64_t
hash_name(const char *name)
{
	uint64_t h = machine.key[0];

	for (; *name != '\0'; name++) {
		unsigned __int128 product = h ^ (unsigned char)*name;

		product *= machine.key[1];
		h = product ^ product >> 64;
	}
	return h;
}

/* The place of the child called name in dir's tree: the pointer that leads to
 * it, or the NULL where it would be added. Two names with the same hash are
 * told apart by strcmp, and lie one below the other. */
static struct ramnode **
place_of(struct ramnode *dir, const char *name, uint64_t hash)
{
	struct ramnode **at = &dir->top;

	must_hold(&ramfs_lock);
	for (uint64_t bits = hash; *at != NULL; bits >>= 1) {
		if ((*at)->hash == hash && strcmp((*at)->name, name) == 0)
			break;
		at = &(*at)->branch[bits & 1];
	}
	return at;
}

/* The child of dir called name, or NULL. The caller holds ramfs_lock. */
static struct ramnode *
child_find(struct ramnode *dir, const char *name)
{
	return *place_of(dir, name, hash_name(name));
}

static bool
is_dir(const struct ramnode *n)
{
	return n->vnode.type == S_IFDIR;
}

/* Add n to dir, where its name is free. The cookie is a new one even if n was
 * only renamed, so that the list, to whose end it is added, stays in order. */
static void
child_add(struct ramnode *dir, struct ramnode *n)
{
	must_hold(&ramfs_lock);
	n->parent = dir;
	n->hash = hash_name(n->name);
	n->branch[0] = n->branch[1] = NULL;
	*place_of(dir, n->name, n->hash) = n;
	n->cookie = next_cookie++;
	list_append(&dir->children, &n->sibling);
	dir->subdirs += is_dir(n);
	dir->mtime = dir->ctime = time_realtime_ns();
}

/* Take n off dir's tree. A leaf from below n takes its place. Any will do: all
 * nodes below n share the bits that lead to n; and a leaf has nothing below it
 * that would have to move, too. */
static void
tree_remove(struct ramnode *dir, struct ramnode *n)
{
	struct ramnode **at = place_of(dir, n->name, n->hash), **end = at;
	struct ramnode *leaf;

	while ((*end)->branch[0] != NULL || (*end)->branch[1] != NULL)
		end = &(*end)->branch[(*end)->branch[0] == NULL];
	leaf = *end;
	*end = NULL;
	if (leaf == n)
		return;
	leaf->branch[0] = n->branch[0];
	leaf->branch[1] = n->branch[1];
	*at = leaf;
}

/* Take n out of its directory. Its reference there is the caller's from now on.
 * A readdir that stood at n goes on from the one before. */
static void
child_remove(struct ramnode *n)
{
	struct ramnode *dir = n->parent;

	must_hold(&ramfs_lock);
	tree_remove(dir, n);
	if (dir->cursor == &n->sibling)
		dir->cursor = n->sibling.prev;
	list_remove(&n->sibling);
	dir->subdirs -= is_dir(n);
	n->parent = NULL;
	n->ctime = dir->mtime = dir->ctime = time_realtime_ns();
}

/* Names leave fewer pages to others than contents of files do: when files have
 * taken all they may, one can still be renamed (mm/page.h). */
static char *
name_copy(const char *name)
{
	size_t size = strlen(name) + 1;
	char *copy = NULL;

	if (page_spare(1, LEFT_BY_NAMES))
		copy = kmalloc(size);
	if (copy != NULL)
		memcpy(copy, name, size);
	return copy;
}

/* A node of the type in mode, which isn't in the tree yet; NULL: no memory. */
static struct ramnode *
node_create(mode_t mode, const char *name)
{
	struct ramnode *n = kzalloc(sizeof(*n));

	if (n == NULL)
		return NULL;
	n->name = name_copy(name);
	if (n->name == NULL) {
		kfree(n);
		return NULL;
	}
	vnode_init(&n->vnode, S_ISDIR(mode) ? &ramdir_ops : &ramfile_ops,
		   mode & S_IFMT);
	n->lock = (struct mutex)MUTEX("ramfs file", n->lock);
	n->page_lock = (struct spinlock)SPINLOCK1("ramfs pages");
	n->ino = __atomic_add_fetch(&last_ino, 1, __ATOMIC_RELAXED);
	n->mode = mode;
	n->atime = n->mtime = n->ctime = time_realtime_ns();
	list_init(&n->sibling);
	list_init(&n->children);
	n->cursor = &n->children;
	return n;
}

void
ramnode_free(struct vnode *v)
{
	struct ramnode *n = ramnode_of(v);

	ramfile_clear(n);
	kfree(n->name);
	kfree(n);
}

/* The new node's first reference becomes that of its place in the tree; or is
 * dropped, if the name turns out under the lock not to be free. */
static int
ramfs_create(struct vnode *dir, const char *name, mode_t mode,
	     struct vnode **out)
{
	struct ramnode *d = ramnode_of(dir);
	struct ramnode *n = node_create(mode, name);
	int r = 0;

	if (n == NULL)
		return -ENOSPC;
	spin_lock(&ramfs_lock);
	if (d->parent == NULL)
		r = -ENOENT; /* dir was removed */
	else if (child_find(d, name) != NULL)
		r = -EEXIST;
	else
		child_add(d, n);
	if (r == 0 && out != NULL) {
		vnode_ref(&n->vnode);
		*out = &n->vnode;
	}
	spin_unlock(&ramfs_lock);
	if (r < 0)
		vnode_put(&n->vnode);
	return r;
}

/* A node that is found under the lock is in the tree, whose reference keeps it
 * until another is taken. So is the parent of one that is in the tree, as only
 * empty directories are removed. One that was removed has no parent: ENOENT. */
int
ramnode_lookup(struct vnode *dir, const char *name, struct vnode **out)
{
	struct ramnode *d = ramnode_of(dir), *n;

	spin_lock(&ramfs_lock);
	n = strcmp(name, "..") == 0 ? d->parent : child_find(d, name);
	if (n != NULL)
		vnode_ref(&n->vnode);
	spin_unlock(&ramfs_lock);
	if (n == NULL)
		return -ENOENT;
	*out = &n->vnode;
	return 0;
}

/* May n, NULL if there is no such name, be removed by rmdir (type S_IFDIR) or
 * unlink? The caller holds ramfs_lock. */
static int
ramfs_check_remove(const struct ramnode *n, mode_t type)
{
	if (n == NULL)
		return -ENOENT;
	if (type != S_IFDIR)
		return is_dir(n) ? -EPERM : 0;
	if (!is_dir(n))
		return -ENOTDIR;
	if (n->vnode.mounted != NULL)
		return -EBUSY;
	return list_empty(&n->children) ? 0 : -ENOTEMPTY;
}

static int
ramfs_remove(struct vnode *dir, const char *name, mode_t type)
{
	struct ramnode *n;
	int r;

	spin_lock(&ramfs_lock);
	n = child_find(ramnode_of(dir), name);
	r = ramfs_check_remove(n, type);
	if (r == 0)
		child_remove(n);
	spin_unlock(&ramfs_lock);
	if (r == 0)
		vnode_put(&n->vnode);
	return r;
}

/*
 * May n be moved to the directory `to`, in the place of old (NULL: nothing)? A
 * directory can't be moved below itself: it would be cut off from the root. So
 * n must not be on the path from `to` up to the root, which is its own parent.
 * All of that path exists, as only empty directories are removed.
 */
static int
check_rename(const struct ramnode *n, const struct ramnode *to,
	     const struct ramnode *old)
{
	if (n == NULL || to->parent == NULL)
		return -ENOENT;
	if (n->vnode.mounted != NULL)
		return -EBUSY;
	if (is_dir(n))
		for (const struct ramnode *d = to; d != d->parent;
		     d = d->parent)
			if (d == n)
				return -EINVAL;
	if (old == NULL || old == n)
		return 0;
	if (is_dir(old) && !is_dir(n))
		return -EISDIR;
	return is_dir(n) ? ramfs_check_remove(old, S_IFDIR) : 0;
}

/* n gets *name, and *name becomes its former name, for the caller to free. So
 * nothing is allocated or freed under ramfs_lock, which the caller holds. */
static void
rename_node(struct ramnode *n, struct ramnode *to, struct ramnode *old,
	    char **name)
{
	char *was = n->name;

	if (old != NULL)
		child_remove(old);
	child_remove(n);
	n->name = *name;
	*name = was;
	child_add(to, n);
}

/* If a name is renamed to itself, old is n, and nothing is to be done. */
static int
ramfs_rename(struct vnode *from, const char *name, struct vnode *to,
	     const char *new)
{
	char *spare = name_copy(new);
	struct ramnode *n, *old;
	int r;

	if (spare == NULL)
		return -ENOSPC;
	spin_lock(&ramfs_lock);
	n = child_find(ramnode_of(from), name);
	old = child_find(ramnode_of(to), new);
	r = check_rename(n, ramnode_of(to), old);
	if (old == n)
		old = NULL;
	else if (r == 0)
		rename_node(n, ramnode_of(to), old, &spare);
	spin_unlock(&ramfs_lock);
	kfree(spare);
	if (r == 0 && old != NULL)
		vnode_put(&old->vnode);
	return r;
}

static struct ramnode *
child_of(struct list *l)
{
	return container_of(l, struct ramnode, sibling);
}

/*
 * The first child whose cookie is at least that given, or NULL. The search
 * begins at the cursor, where the last one ended, unless that is past the
 * cookie; so reading a whole directory passes through it once. The cursor is
 * only a hint: if several read the directory, each still finds its child.
 */
static struct ramnode *
child_at(struct ramnode *d, off_t cookie)
{
	struct list *l = d->cursor;

	must_hold(&ramfs_lock);
	if (l == &d->children || child_of(l)->cookie > cookie)
		l = d->children.next;
	while (l != &d->children && child_of(l)->cookie < cookie)
		l = l->next;
	d->cursor = l;
	return l != &d->children ? child_of(l) : NULL;
}

static int
ramfs_readdir(struct vnode *dir, struct file *, off_t *cookie,
	      struct dirent *de)
{
	struct ramnode *d = ramnode_of(dir), *n;

	spin_lock(&ramfs_lock);
	n = child_at(d, *cookie);
	if (n != NULL) {
		de->d_ino = n->ino;
		de->d_type = is_dir(n) ? DT_DIR : DT_REG;
		strlcpy(de->d_name, n->name, sizeof(de->d_name));
		*cookie = n->cookie + 1;
	}
	spin_unlock(&ramfs_lock);
	return n != NULL;
}

int
ramnode_name(struct vnode *dir, char *buf)
{
	struct ramnode *d = ramnode_of(dir);
	int r = -ENOENT;

	spin_lock(&ramfs_lock);
	if (d->parent != NULL) {
		strlcpy(buf, d->name, NAME_MAX_LEN + 1);
		r = 0;
	}
	spin_unlock(&ramfs_lock);
	return r;
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
	if (n->parent != NULL)
		st->st_nlink = is_dir(n) ? 2 + n->subdirs : 1;
	spin_unlock(&ramfs_lock);
	st->st_size = n->size;
	st->st_blksize = PAGE_SIZE;
	st->st_blocks = n->npages * (PAGE_SIZE / 512);
	st->st_atim = time_of_ns(n->atime);
	st->st_mtim = time_of_ns(n->mtime);
	st->st_ctim = time_of_ns(n->ctime);
	return 0;
}

int
ramnode_setattr(struct vnode *v, const struct attr *a)
{
	struct ramnode *n = ramnode_of(v);

	if (a->mode != OMIT)
		n->mode = v->type | a->mode;
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
    .remove = ramfs_remove,
    .rename = ramfs_rename,
    .name = ramnode_name,
    .readdir = ramfs_readdir,
    .stat = ramnode_stat,
    .setattr = ramnode_setattr,
    .free = ramnode_free,
};

/* The root is its own parent: this ends every way up, and tells it from a
 * directory that was removed, which has none. */
struct vnode *
ramfs_root(void)
{
	struct ramnode *n = node_create(S_IFDIR | 0755, "");

	if (n == NULL)
		return NULL;
	n->parent = n;
	return &n->vnode;
}
