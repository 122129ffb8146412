/*
 * From paths to vnodes, and from a directory back to its path. vfs.c calls this
 * for every path.
 *
 * A walk goes from component to component. At each moment it holds exactly one
 * reference, to the vnode where it stands, and no lock. That is enough: the
 * reference keeps the directory in memory even if another process removes it,
 * and in ramfs a lookup in a removed directory finds nothing. But a walk isn't
 * one atomic step: if directories are renamed meanwhile, it may pass through
 * the old place of one and the new place of another.
 *
 * For example, "/dev/../tmp/a":
 *
 *	start		a reference to /
 *	"dev"		lookup finds the directory /dev of ramfs, on which devfs
 *			is mounted; the walk goes on to the root of devfs
 *	".."		that root covers /dev of ramfs; its ".." is /
 *	"tmp"		lookup finds /tmp
 *	"a"		is left to the caller, in struct walk
 *
 * A symbolic link is replaced by the path that it holds, which begins in the
 * link's directory: that is where the walk still stands.
 *
 * ".." is looked up like any other name, and not cut off the text. So a path is
 * valid only if every component of it exists. Nothing is cached: a lookup in
 * ramfs costs less than it would cost to keep a cache right.
 *
 * A mount is two pointers, which are never reset and so need no lock: `mounted`
 * leads from the covered directory to the root of the file system, `covered`
 * leads back. A lookup follows the first; ".." and vfs_path follow the second.
 */
#include "walk.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "mm/kmalloc.h"

#include "vfs.h"
#include "vnode.h"

/* Where a path starts, referenced: the root if the process has no directory. */
static struct vnode *
walk_start(struct vnode *at, const char *path)
{
	struct vnode *v = *path == '/' ? vfs_root : at;

	if (v == NULL) {
		v = vfs_process.cwd();
		if (v != NULL)
			return v;
		v = vfs_root;
	}
	vnode_ref(v);
	return v;
}

/* Exchange the reference *at for one to v. */
static void
walk_to(struct vnode **at, struct vnode *v)
{
	vnode_ref(v);
	vnode_put(*at);
	*at = v;
}

/* A mounted root has the parent and the name of the directory it covers. */
static void
walk_uncover(struct vnode **at)
{
	if ((*at)->covered != NULL)
		walk_to(at, (*at)->covered);
}

/* As walk_step, but *at stays, and what is found is *next, with a reference of
 * its own. */
static inline __attribute__((always_inline)) int
walk_find(struct vnode **at, const char *name, struct vnode **next)
{
	int r;

	if (name[0] == '.' && name[1] == '\0') {
		*next = *at;
		vnode_ref(*next);
		return 0;
	}
	if (is_dots(name))
		walk_uncover(at);
	r = (*at)->ops->lookup(*at, name, next);
	if (r == 0 && (*next)->mounted != NULL)
		walk_to(next, (*next)->mounted);
	return r;
}

int
walk_step(struct vnode **at, const char *name)
{
	struct vnode *next;
	int r = walk_find(at, name, &next);

	if (r < 0)
		return r;
	vnode_put(*at);
	*at = next;
	return 0;
}

/* Copy the component at *path to w->name, and move *path past it and past the
 * slashes behind it. w->slash tells whether there were any. */
static int
walk_component(const char **path, struct walk *w)
{
	const char *p = *path;
	char *name = w->name;

	while (*p != '/' && *p != '\0') {
		if (name == w->name + NAME_MAX_LEN)
			return -ENAMETOOLONG;
		*name++ = *p++;
	}
	*name = '\0';
	w->slash = *p == '/';
	while (*p == '/')
		p++;
	*path = p;
	return 0;
}

/* Find what w->dir has by w->name. A symbolic link is left to the caller, *link
 * with a reference, and the walk stays; to anything else it goes on. */
static inline __attribute__((always_inline)) int
walk_look(struct walk *w, struct vnode **link)
{
	struct vnode *next;
	int r = walk_find(&w->dir, w->name, &next);

	*link = NULL;
	if (r < 0)
		return r;
	if (next->type == S_IFLNK) {
		*link = next;
		return 0;
	}
	vnode_put(w->dir);
	w->dir = next;
	return 0;
}

#define FOLLOW_SIZE PAGE_SIZE /* of a path that links have made */

/* A link that leads to a vnode itself: the walk goes there. */
static int
walk_jump(struct walk *w, struct vnode *link, const char *path)
{
	struct vnode *v;
	int r = -EINVAL;

	if (link->ops->follow != NULL)
		r = link->ops->follow(link, &v);
	if (r < 0)
		return r;
	vnode_put(w->dir);
	w->dir = v;
	return v->type != S_IFDIR && (w->slash || *path != '\0') ? -ENOTDIR : 0;
}

/*
 * Make *path, what is left to be walked, the target of a link and then what was
 * left before. It lies at the end of *buffer, which is allocated for the first
 * link of a path. The target is read to the buffer's start, and moved to just
 * before the rest.
 */
static SLOW_PATH int
walk_follow(struct walk *w, struct vnode *link, const char **path,
	    char **buffer)
{
	size_t left = strlen(*path) + 1;
	char *at;
	ssize_t n;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	n = walk_jump(w, link, *path);
	if (n != -EINVAL)
		return n;
	if (*buffer == NULL)
		*buffer = kmalloc(FOLLOW_SIZE);
	if (*buffer == NULL)
		return -ENOMEM;
	at = memmove(*buffer + FOLLOW_SIZE - left, *path, left);
	if (w->slash)
		*--at = '/';
	n = link->ops->readlink(link, *buffer, at - *buffer);
	if (n <= 0)
		return n < 0 ? n : -ENOENT;
	if (n >= at - *buffer)
		return -ENAMETOOLONG; /* or more of it didn't fit */
	*path = memmove(at - n, *buffer, n);
	if (**path == '/')
		walk_to(&w->dir, vfs_root);
	while (**path == '/')
		++*path;
	return 0;
}

/* Walk from w->dir along path, but first along a link, unless that is NULL; the
 * reference to it is dropped. Ends before the last component. On failure w->dir
 * is wherever the walk came to. */
static int
walk_on(struct walk *w, const char *path, struct vnode *link)
{
	char *buffer = NULL;
	int r = 0;

	w->before_last = false;
	for (;;) {
		if (link != NULL) {
			r = walk_follow(w, link, &path, &buffer);
			vnode_put(link);
		} else if (w->dir->type != S_IFDIR) {
			r = -ENOTDIR;
		}
		if (r == 0)
			r = walk_component(&path, w);
		w->before_last = r == 0 && *path == '\0';
		if (r == 0 && !w->before_last)
			r = walk_look(w, &link);
		if (r < 0 || w->before_last)
			break;
	}
	if (buffer != NULL)
		kfree(buffer);
	return r;
}

int
walk(struct vnode *at, const char *path, struct walk *w)
{
	int r;

	if (*path == '\0')
		return -ENOENT;
	w->links = 0;
	w->dir = walk_start(at, path);
	while (*path == '/')
		path++;
	r = walk_on(w, path, NULL);
	if (r < 0)
		vnode_put(w->dir);
	return r;
}

int
walk_last(struct walk *w, bool follow)
{
	struct vnode *link;
	int r;

	do {
		r = w->name[0] != '\0' ? walk_look(w, &link) : 0;
		if (r < 0 || w->name[0] == '\0')
			return r;
		if (link != NULL && !follow && !w->slash) {
			vnode_put(w->dir);
			w->dir = link;
			return 0;
		}
		if (link != NULL)
			r = walk_on(w, "", link);
	} while (r == 0 && link != NULL);
	if (r == 0 && w->slash && w->dir->type != S_IFDIR)
		return -ENOTDIR;
	return r;
}

static int
walk_whole(struct vnode *at, const char *path, bool follow, struct vnode **out)
{
	struct walk w;
	int r = walk(at, path, &w);

	if (r < 0)
		return r;
	r = walk_last(&w, follow);
	if (r < 0)
		vnode_put(w.dir);
	else
		*out = w.dir;
	return r;
}

int
vfs_lookup(struct vnode *at, const char *path, struct vnode **out)
{
	return walk_whole(at, path, true, out);
}

int
vfs_lookup_link(struct vnode *at, const char *path, struct vnode **out)
{
	return walk_whole(at, path, false, out);
}

/* Each time the name and then the parent, so the path grows from the end of buf
 * towards its start: "/share", then "/usr/share". No lock is held in between,
 * so if directories are renamed meanwhile the path may never have existed. */
ssize_t
vfs_path(struct vnode *dir, char buf[PATH_MAX_LEN])
{
	size_t start = PATH_MAX_LEN - 1, n = 0;
	char name[NAME_MAX_LEN + 1];
	int r = 0;

	buf[start] = '\0';
	vnode_ref(dir);
	while (r == 0 && dir != vfs_root) {
		walk_uncover(&dir);
		r = dir->ops->name(dir, name);
		if (r == 0) {
			n = strlen(name);
			r = walk_step(&dir, "..");
		}
		if (r == 0 && n + 1 > start)
			r = -ERANGE;
		if (r < 0)
			break;
		start -= n;
		memcpy(buf + start, name, n);
		buf[--start] = '/';
	}
	vnode_put(dir);
	if (r < 0)
		return r;
	if (buf[start] == '\0') /* no name at all: dir is the root */
		buf[--start] = '/';
	memmove(buf, buf + start, PATH_MAX_LEN - start);
	return PATH_MAX_LEN - 1 - start;
}
