/*
 * ramfs, the tree: names, directories, what stat says.
 *
 * A directory finds a child by a tree of its own: which way to go is told by
 * the bits of the name's hash, one at each node. So an empty directory costs
 * nothing, a big one little, and nothing ever has to be built anew. The hash
 * has a secret key: no one can choose names that make a long branch of it. Each
 * directory has a list of its children besides, in the order they came.
 *
 * One spinlock guards it all: what is done under it is short, and rename sees
 * and leaves the tree in one piece. Memory is found before it is taken, and
 * vnodes are let go of after.
 */
#include "ramfs.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "../machine.h"
#include "../proc/proc.h"

#define DEV_RAMFS 1 /* st_dev */

static struct spinlock ramfs_lock = SPINLOCK1("ramfs");
static off_t next_cookie = DIR_COOKIE; /* under ramfs_lock */
static unsigned long last_ino;         /* atomic */

static const struct vnode_ops ramdir_ops;

/* Each byte goes through a product of which both halves count, so any bit of
 * it may change any of the hash, in a way that depends on the key. */
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

/* Where dir's child called name is in its tree, or would be. ramfs_lock is
 * held. */
static struct ramnode **
place_of(struct ramnode *dir, const char *name, uint64_t hash)
{
	struct ramnode **at = &dir->top;

	for (uint64_t bits = hash; *at != NULL; bits >>= 1) {
		if ((*at)->hash == hash && strcmp((*at)->name, name) == 0)
			break;
		at = &(*at)->branch[bits & 1];
	}
	return at;
}

/* The child of dir called name, or NULL. ramfs_lock is held. */
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

/* Put n, which bears its name already, into dir. ramfs_lock is held. */
static void
child_add(struct ramnode *dir, struct ramnode *n)
{
	n->parent = dir;
	n->hash = hash_name(n->name);
	n->branch[0] = n->branch[1] = NULL;
	*place_of(dir, n->name, n->hash) = n;
	n->cookie = next_cookie++;
	list_append(&dir->children, &n->sibling);
	dir->subdirs += is_dir(n);
	dir->mtime = dir->ctime = time_realtime_ns();
}

/* Take n off dir's tree: any leaf below it may have its place. */
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

/* Take n out of its directory. ramfs_lock is held. */
static void
child_remove(struct ramnode *n)
{
	struct ramnode *dir = n->parent;

	tree_remove(dir, n);
	if (dir->cursor == &n->sibling)
		dir->cursor = n->sibling.prev;
	list_remove(&n->sibling);
	dir->subdirs -= is_dir(n);
	n->parent = NULL;
	n->ctime = dir->mtime = dir->ctime = time_realtime_ns();
}

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

/* A node of mode's type that isn't in the tree yet. NULL: no memory. */
static struct ramnode *
node_create(mode_t mode, const char *name)
{
	struct ramnode *n = kzalloc(sizeof *n);

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

/* The reference that the new node's entry has is its first. */
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

static int
ramfs_lookup(struct vnode *dir, const char *name, struct vnode **out)
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

/* May n be removed as what type says? */
static int
check_remove(const struct ramnode *n, mode_t type)
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
	r = check_remove(n, type);
	if (r == 0)
		child_remove(n);
	spin_unlock(&ramfs_lock);
	if (r == 0)
		vnode_put(&n->vnode);
	return r;
}

/* May n be moved to directory to, in the place of old (NULL: no one's)? */
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
	return is_dir(n) ? check_remove(old, S_IFDIR) : 0;
}

/* Do it, once it's allowed: n gets a name, and gives its own for it. */
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

/* The first child whose cookie is at least that given, or NULL. It is looked
 * for from the cursor on, if it can be there. ramfs_lock is held. */
static struct ramnode *
child_at(struct ramnode *d, off_t cookie)
{
	struct list *l = d->cursor;

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
		strlcpy(de->d_name, n->name, sizeof de->d_name);
		*cookie = n->cookie + 1;
	}
	spin_unlock(&ramfs_lock);
	return n != NULL;
}

static int
ramfs_name(struct vnode *dir, char *buf)
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
    .lookup = ramfs_lookup,
    .create = ramfs_create,
    .remove = ramfs_remove,
    .rename = ramfs_rename,
    .name = ramfs_name,
    .readdir = ramfs_readdir,
    .stat = ramnode_stat,
    .setattr = ramnode_setattr,
    .free = ramnode_free,
};

struct vnode *
ramfs_root(void)
{
	struct ramnode *n = node_create(S_IFDIR | 0755, "");

	if (n == NULL)
		return NULL;
	n->parent = n;
	return &n->vnode;
}
