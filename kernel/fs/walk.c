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

static struct vnode *root; /* set once, at boot */

/* The vnode a path starts from, referenced. */
static struct vnode *
walk_start(const char *path)
{
	struct proc *p = current->proc;
	struct vnode *v = root;

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

int
walk_step(struct vnode **at, const char *name)
{
	struct vnode *next;
	int r;

	if (name[0] == '.' && name[1] == '\0')
		return 0;
	if (is_dots(name))
		while ((*at)->covered != NULL)
			walk_to(at, (*at)->covered);
	r = (*at)->ops->lookup(*at, name, &next);
	if (r < 0)
		return r;
	while (next->mounted != NULL)
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

/*
 * Climb from *dir to its parent, and put its name, with a slash before it, in
 * front of what starts at buf[*start]. On failure *dir is referenced still.
 */
static int
climb(struct vnode **dir, char *buf, size_t *start)
{
	char name[NAME_MAX_LEN + 1];
	size_t n;
	int r;

	while ((*dir)->covered != NULL)
		walk_to(dir, (*dir)->covered);
	r = (*dir)->ops->name(*dir, name);
	if (r == 0)
		r = walk_step(dir, "..");
	if (r < 0)
		return r;
	n = strlen(name);
	if (*start < n + 1)
		return -ERANGE;
	*start -= n + 1;
	buf[*start] = '/';
	memcpy(buf + *start + 1, name, n);
	return 0;
}

ssize_t
vfs_path(struct vnode *dir, char *buf, size_t size)
{
	size_t start = size - 1;
	int r = 0;

	if (size < sizeof "/")
		return -ERANGE;
	buf[start] = '\0';
	vnode_ref(dir);
	while (r == 0 && dir != root)
		r = climb(&dir, buf, &start);
	vnode_put(dir);
	if (r < 0)
		return r;
	if (start == size - 1)
		buf[--start] = '/';
	memmove(buf, buf + start, size - start);
	return size - start - 1;
}

int
vfs_mount(const char *path, struct vnode *fs)
{
	struct vnode *v;
	int r;

	if (root == NULL) {
		root = fs;
		return 0;
	}
	r = vfs_lookup(path, &v);
	if (r < 0)
		return r;
	if (v->type != S_IFDIR)
		r = -ENOTDIR;
	else if (v == root || v->covered != NULL)
		r = -EBUSY;
	if (r < 0) {
		vnode_put(v);
		return r;
	}
	fs->covered = v;
	__atomic_store_n(&v->mounted, fs, __ATOMIC_RELEASE);
	return 0;
}
