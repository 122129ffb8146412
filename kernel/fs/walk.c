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

#include "vfs.h"
#include "vnode.h"

/* Where a path starts, referenced: the root if the process has no directory. */
static struct vnode *
walk_start(const char *path)
{
	struct vnode *v = *path == '/' ? NULL : vfs_process.cwd();

	if (v == NULL) {
		v = vfs_root;
		vnode_ref(v);
	}
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

int
walk_step(struct vnode **at, const char *name)
{
	struct vnode *next;
	int r;

	if (name[0] == '.' && name[1] == '\0')
		return 0;
	if (is_dots(name))
		walk_uncover(at);
	r = (*at)->ops->lookup(*at, name, &next);
	if (r < 0)
		return r;
	if (next->mounted != NULL)
		walk_to(&next, next->mounted);
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
	size_t n = 0;

	for (; *p != '/' && *p != '\0'; p++) {
		if (n == NAME_MAX_LEN)
			return -ENAMETOOLONG;
		w->name[n++] = *p;
	}
	w->name[n] = '\0';
	w->slash = *p == '/';
	while (*p == '/')
		p++;
	*path = p;
	return 0;
}

int
walk(const char *path, struct walk *w)
{
	int r;

	if (*path == '\0')
		return -ENOENT;
	w->dir = walk_start(path);
	while (*path == '/')
		path++;
	for (;;) {
		r = walk_component(&path, w);
		/* Nothing follows: this was the last one, left in w. */
		if (r == 0 && *path == '\0')
			return 0;
		if (r == 0)
			r = walk_step(&w->dir, w->name);
		if (r == 0 && w->dir->type != S_IFDIR)
			r = -ENOTDIR;
		if (r < 0) {
			vnode_put(w->dir);
			return r;
		}
	}
}

int
walk_last(struct walk *w)
{
	int r = w->name[0] != '\0' ? walk_step(&w->dir, w->name) : 0;

	if (r == 0 && w->slash && w->dir->type != S_IFDIR)
		return -ENOTDIR;
	return r;
}

int
vfs_lookup(const char *path, struct vnode **out)
{
	struct walk w;
	int r = walk(path, &w);

	if (r < 0)
		return r;
	r = walk_last(&w);
	if (r < 0)
		vnode_put(w.dir);
	else
		*out = w.dir;
	return r;
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
