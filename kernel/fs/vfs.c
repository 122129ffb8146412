/*
 * What vnodes have in common, and the operations on paths: open, mkdir, remove,
 * rename, mount. Read walk.h first.
 *
 * Each operation on a path has the same form. walk() leads to the directory
 * that holds the last component. Then come the checks that are the same for all
 * file systems, such as that rename takes no "..". Then the operation of that
 * directory does the work, under the locks of its file system. No lock is held
 * in between, so it is the operation that decides whether a name exists.
 */
#include "vfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/layout.h"
#include "base/panic.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "mm/page.h"
#include "sched/thread.h"

#include "file.h"
#include "filesystems.h"
#include "uio.h"
#include "vnode.h"
#include "walk.h"

#define CREATE_TRIES 100

struct vnode *vfs_root;

void
vnode_init(struct vnode *v, const struct vnode_ops *ops, mode_t type)
{
	*v = (struct vnode){.ops = ops, .refs = 1, .type = type};
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
	memset(st, 0, sizeof(*st));
	return v->ops->stat(v, st);
}

/*
 * --- For address spaces: what regions ask of their files ---
 *
 * A region that may be executed holds its file as text. While any region does,
 * the file can't be opened for writing or truncated (ETXTBSY), since the pages
 * that the program runs from may be the file's own. The count isn't tied to a
 * lock: a file that is open for writing already may still be executed.
 */

static void
region_hold(const struct region *r)
{
	vnode_ref(r->vnode);
	if (r->text)
		__atomic_fetch_add(&r->vnode->texts, 1, __ATOMIC_RELAXED);
	if (r->shared) /* it is already; so this needs no lock of the file's */
		__atomic_fetch_add(&r->vnode->shares, 1, __ATOMIC_RELAXED);
}

static void
region_release(const struct region *r)
{
	if (r->text)
		__atomic_fetch_sub(&r->vnode->texts, 1, __ATOMIC_RELAXED);
	if (r->shared)
		vnode_unshare(r->vnode);
	vnode_put(r->vnode);
}

static int
region_page(const struct region *r, off_t offset, void **page)
{
	return r->vnode->ops->getpage(r->vnode, offset, r->shared, page);
}

/* --- What names lead to --- */

struct vfs_process vfs_process;

/* The umask applies here, so that no file system has to know of it. */
static int
create_last(struct walk *w, mode_t mode, struct vnode **out)
{
	if (w->dir->ops->create == NULL)
		return -EROFS;
	mode &= ~vfs_process.umask();
	return w->dir->ops->create(w->dir, w->name, mode, out);
}

/* A look a moment ago found no such name. If it is "..", then w stands in a
 * directory that was removed; and if it isn't the last one, a symbolic link led
 * where there is no directory. A name with a slash behind it could only be
 * that of a directory, which open doesn't create. */
static int
create_file(struct walk *w, mode_t mode, struct vnode **out)
{
	if (!w->before_last || is_dots(w->name))
		return -ENOENT;
	if (w->slash)
		return -EISDIR;
	return create_last(w, S_IFREG | (mode & 07777), out);
}

/*
 * For O_CREAT: find path, or create it. *out is its vnode, referenced.
 *
 * The look and the attempt to create are two steps. If another process creates
 * the name in between, the attempt fails with EEXIST, and the loop looks again;
 * if that process has removed the name by then, it tries again to create it.
 * A server of /host may say both for ever, so EIO ends that, or a signal.
 * With O_EXCL an existing name is an error, whenever it was created, so one
 * round is enough; a symbolic link is one, and isn't followed. Without O_EXCL
 * one that leads nowhere is followed, and the file created there.
 *
 * A look that finds the name moves w.dir on to it, with the reference. One that
 * ends with ENOENT leaves w.dir at the parent, where the name is then created.
 */
static int
find_or_create(struct vnode *at, const char *path, int flags, mode_t mode,
	       struct vnode **out)
{
	bool exclusive = flags & O_EXCL;
	unsigned int tries = CREATE_TRIES;
	struct walk w;
	int r = walk(at, path, &w);

	if (r < 0)
		return r;
	do {
		r = walk_last(&w, !(flags & (O_EXCL | O_NOFOLLOW)));
		if (r == 0 && !exclusive) {
			*out = w.dir;
			return 0;
		}
		if (r == 0)
			r = -EEXIST;
		else if (r == -ENOENT)
			r = create_file(&w, mode, out);
		if (r != -EEXIST || exclusive)
			break;
		r = thread_interrupted() ? -ERESTART : -EIO;
	} while (r == -EIO && --tries > 0);
	vnode_put(w.dir);
	return r;
}

static int
check_open(const struct vnode *v, int flags)
{
	bool write = (flags & O_ACCMODE) != O_RDONLY;

	if (v->type == S_IFDIR)
		return write || flags & O_CREAT ? -EISDIR : 0;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if (v->type == S_IFLNK)
		return -ELOOP; /* O_NOFOLLOW */
	if (write && __atomic_load_n(&v->texts, __ATOMIC_RELAXED) != 0)
		return -ETXTBSY;
	return 0;
}

int
vfs_open(struct file *f, struct vnode *at, const char *path, int flags,
	 mode_t mode)
{
	struct vnode *v;
	int r;

	if ((flags & O_ACCMODE) == O_ACCMODE ||
	    (flags & O_CREAT && flags & O_DIRECTORY))
		return -EINVAL;
	if (flags & O_CREAT)
		r = find_or_create(at, path, flags, mode, &v);
	else if (flags & O_NOFOLLOW)
		r = vfs_lookup_link(at, path, &v);
	else
		r = vfs_lookup(at, path, &v);
	if (r < 0)
		return r;
	r = check_open(v, flags);
	if (r == 0)
		r = file_open(f, v, flags);
	if (r < 0) {
		vnode_put(v);
		return r;
	}
	/* Last, because it can't be undone. If it fails f stays open, and is
	 * closed when the caller drops its references to it. */
	if (flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY &&
	    v->type == S_IFREG)
		return vfs_truncate(v, 0);
	return 0;
}

int
vfs_mkdir(struct vnode *at, const char *path, mode_t mode)
{
	struct walk w;
	int r = walk(at, path, &w);

	if (r < 0)
		return r;
	r = -EEXIST; /* "/", "." and ".." are there already */
	if (w.name[0] != '\0' && !is_dots(w.name))
		r = create_last(&w, S_IFDIR | (mode & 07777), NULL);
	vnode_put(w.dir);
	return r;
}

/* Is the name that w ends with free? What needs no look by the file system. */
static int
check_new(struct walk *w)
{
	int r;

	if (w->name[0] == '\0' || is_dots(w->name))
		return -EEXIST;
	if (!w->slash)
		return 0;
	w->slash = false; /* it is an error, but which one? */
	r = walk_last(w, false);
	return r < 0 ? r : -EEXIST;
}

int
vfs_symlink(const char *target, struct vnode *at, const char *path)
{
	struct walk w;
	int r;

	if (*target == '\0')
		return -ENOENT;
	r = walk(at, path, &w);
	if (r < 0)
		return r;
	r = check_new(&w);
	if (r == 0)
		r = w.dir->ops->symlink != NULL
			? w.dir->ops->symlink(w.dir, w.name, target)
			: -EROFS;
	vnode_put(w.dir);
	return r;
}

/* A name that is taken is the first thing to be told, and then where v is. */
static int
link_last(struct walk *w, struct vnode *v)
{
	struct vnode *taken;
	int r = check_new(w);

	if (r < 0)
		return r;
	r = w->dir->ops->lookup(w->dir, w->name, &taken);
	if (r == 0) {
		vnode_put(taken);
		return -EEXIST;
	}
	if (r != -ENOENT)
		return r;
	if (w->dir->ops->link == NULL)
		return -EROFS;
	if (v->type == S_IFDIR)
		return -EPERM;
	return w->dir->ops->link(w->dir, w->name, v);
}

int
vfs_link(struct vnode *v, struct vnode *at, const char *path)
{
	struct walk w;
	int r = walk(at, path, &w);

	if (r < 0)
		return r;
	r = link_last(&w, v);
	vnode_put(w.dir);
	return r;
}

/* May the name that w ends with be removed by rmdir (type S_IFDIR) or unlink?
 * Whether it exists, and what it is, the file system decides. But "name/" given
 * to unlink, always an error, needs a look to tell which one. */
static int
vfs_check_remove(struct walk *w, mode_t type)
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
		return -EISDIR;
	if (!w->slash)
		return 0;
	w->slash = false; /* what is asked is what the name itself stands for */
	r = walk_last(w, false);
	if (r < 0)
		return r;
	return w->dir->type == S_IFDIR ? -EISDIR : -ENOTDIR;
}

int
vfs_remove(struct vnode *at, const char *path, mode_t type)
{
	struct walk w;
	int r = walk(at, path, &w);

	if (r < 0)
		return r;
	r = vfs_check_remove(&w, type);
	if (r == 0)
		r = w.dir->ops->remove != NULL
			? w.dir->ops->remove(w.dir, w.name, type)
			: -EROFS;
	vnode_put(w.dir);
	return r;
}

/* A slash behind either name says that the old one is a directory; with
 * RENAME_EXCHANGE each tells of its own. */
static int
check_slashes(const struct walk *from, const struct walk *to,
	      unsigned int flags)
{
	bool exchange = flags & RENAME_EXCHANGE;
	const struct walk *named[] = {from, exchange ? to : from};
	const bool slash[] = {from->slash, to->slash};

	for (int i = 0; i < 2; i++) {
		struct vnode *dir = named[i]->dir, *v;
		int r;

		if (!slash[i])
			continue;
		/* Not walk_last, which would leave the parent. */
		r = dir->ops->lookup(dir, named[i]->name, &v);
		if (r < 0)
			return r;
		r = v->type == S_IFDIR ? 0 : -ENOTDIR;
		vnode_put(v);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Each file system has one table of operations for its directories. */
static int
rename_last(const struct walk *from, const struct walk *to, unsigned int flags)
{
	int r;

	if (from->dir->ops != to->dir->ops)
		return -EXDEV;
	if (from->name[0] == '\0' || is_dots(from->name))
		return -EBUSY;
	if (to->name[0] == '\0' || is_dots(to->name))
		return flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
	if (from->dir->ops->rename == NULL)
		return -EROFS;
	r = check_slashes(from, to, flags);
	if (r < 0)
		return r;
	return from->dir->ops->rename(from->dir, from->name, to->dir, to->name,
				      flags);
}

int
vfs_rename(struct vnode *from, const char *old, struct vnode *to,
	   const char *new, unsigned int flags)
{
	struct walk a, b;
	int r = walk(from, old, &a);

	if (r < 0)
		return r;
	r = walk(to, new, &b);
	if (r == 0) {
		r = rename_last(&a, &b, flags);
		vnode_put(b.dir);
	}
	vnode_put(a.dir);
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

/* Cookie 0 is ".", cookie 1 is "..". walk_step leads to either, and out of a
 * mounted root, so that no file system has to list them. */
int
vfs_dots(struct vnode *dir, off_t *cookie, struct dirent *de)
{
	static const char *const dots[DIR_COOKIE] = {".", ".."};
	struct stat st;
	int r;

	/* walk_step exchanges a reference; the caller's must stay. */
	vnode_ref(dir);
	r = walk_step(&dir, dots[*cookie]);
	if (r == 0)
		r = vnode_stat(dir, &st);
	vnode_put(dir);
	if (r < 0)
		return r;
	de->d_ino = st.st_ino;
	de->d_type = DT_DIR;
	strlcpy(de->d_name, dots[*cookie], sizeof(de->d_name));
	++*cookie;
	return 1;
}

/* The references to v and fs are kept for good: they are those of the two
 * pointers that make the mount. */
void
vfs_mount(const char *path, struct vnode *fs)
{
	struct vnode *v;
	int r = vfs_mkdir(NULL, path, 0755);

	if (r == 0 || r == -EEXIST)
		r = vfs_lookup(NULL, path, &v);
	if (r == 0 && v->type != S_IFDIR)
		r = -ENOTDIR;
	if (r < 0)
		panic("can't mount %s: error %d", path, -r);
	/* In this order, and with a release: whoever finds the mount finds the
	 * way back as well. */
	fs->covered = v;
	__atomic_store_n(&v->mounted, fs, __ATOMIC_RELEASE);
}

void
vfs_serve(void)
{
	aspace_files = (struct aspace_files){
	    .hold = region_hold,
	    .release = region_release,
	    .find_page = region_page,
	};
}

void
vfs_init(void)
{
	size_t size = machine.initrd_end - machine.initrd_start;

	vfs_root = ramfs_root();
	if (vfs_root == NULL)
		panic("no memory for the root directory");
	ustar_unpack(pa_to_va(machine.initrd_start), size);
	/* The files have been copied; the archive's own memory is free now. */
	page_add(machine.initrd_start, machine.initrd_end);
	devfs_init();
}
