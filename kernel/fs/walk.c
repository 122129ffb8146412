/*
 * From paths to vnodes and back, and the mounts on the way.
 *
 * A walk goes component by component, with a reference to where it is; ".."
 * is asked of the file system like any other name, so that a path is valid
 * only if all of it exists. Nothing is cached: a lookup in ramfs costs less
 * than keeping a cache right would.
 */
#include "walk.h"

#include <errno.h>
#include <string.h>

#include "../proc/proc.h"

/* The vnode a path starts from, referenced. */
static struct vnode *
walk_start(const char *path)
{
	struct proc *p = current->proc;
	struct vnode *v = vfs_root;

	if (*path == '/' || p == NULL) {
		vnode_ref(v);
		return v;
	}
	spin_lock(&p->lock);
	if (p->cwd != NULL)
		v = p->cwd;
	vnode_ref(v);
	spin_unlock(&p->lock);
	return v;
}

/* Let *at refer to v instead of what it did. */
static void
walk_to(struct vnode **at, struct vnode *v)
{
	vnode_ref(v);
	vnode_put(*at);
	*at = v;
}

/* If *at is where a mounted file system starts, go to what that covers. */
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

/* Copy the component at *path, which moves on past slashes to the next. */
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

/* From the end of buf towards its start, name by name. */
ssize_t
vfs_path(struct vnode *dir, char buf[PATH_MAX_LEN])
{
	size_t start = PATH_MAX_LEN - 1, n;
	char name[NAME_MAX_LEN + 1];
	int r = 0;

	buf[start] = '\0';
	vnode_ref(dir);
	while (r == 0 && dir != vfs_root) {
		walk_uncover(&dir);
		r = dir->ops->name(dir, name);
		if (r == 0)
			r = walk_step(&dir, "..");
		n = strlen(name);
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
	if (buf[start] == '\0')
		buf[--start] = '/';
	memmove(buf, buf + start, PATH_MAX_LEN - start);
	return PATH_MAX_LEN - 1 - start;
}
