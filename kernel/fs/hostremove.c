/*
 * Removing and renaming in /host.
 *
 * The server reads and writes an open file whatever becomes of its name, but
 * finds it by its path for all else: once the name is gone, fstat and ftruncate
 * would fail, or reach another file that has the name by then. So a file that
 * is open isn't removed. It is hidden: renamed to .tally0, or whichever number
 * is free in its folder, and removed when nobody has it open or mapped any
 * more. The server's fids follow a file that is renamed by a request.
 *
 * A file is recognized by the server's number for it (hostnode.path), as each
 * of its names may have any number of nodes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mm/kmalloc.h"
#include "sched/lock.h"

#include "hostfs.h"
#include "p9.h"
#include "vnode.h"

#define L_REMOVEDIR 0x200 /* the server's, Linux's, number */

#define NUMBERS 1000 /* to try in one folder */

struct hidden {
	struct list link;
	uint64_t path;        /* which file */
	struct hostnode *dir; /* where it is; referenced */
	char name[sizeof(".tally1000")];
};

/* Guards both lists; and what a name leads to, from when it is looked up here
 * until it is removed. Nodes are freed in page faults, so no user memory is
 * touched under it; a request is made under it, so 9p's mutex comes after. */
static struct mutex removing = MUTEX("removing", removing);
static struct list opened = LIST_INIT(opened); /* nodes */
static struct list hidden = LIST_INIT(hidden);

static int
send_unlink(struct hostnode *dir, const char *name, unsigned int flags)
{
	return p9_call(P9_UNLINKAT, NULL, NULL, "", "dsd", fid_of(dir), name,
		       flags);
}

static int
send_rename(struct hostnode *from, const char *old, struct hostnode *to,
	    const char *new)
{
	return p9_call(P9_RENAMEAT, NULL, NULL, "", "dsds", fid_of(from), old,
		       fid_of(to), new);
}

/* --- What is open, and what is hidden --- */

static bool
is_open(uint64_t path)
{
	must_hold(&removing);
	list_each (struct hostnode, n, &opened, opened)
		if (n->path == path)
			return true;
	return false;
}

/* NULL: the file isn't hidden. */
static struct hidden *
find_hidden(uint64_t path)
{
	must_hold(&removing);
	list_each (struct hidden, h, &hidden, link)
		if (h->path == path)
			return h;
	return NULL;
}

/* Is this a name that only we know of? */
static bool
is_hidden(const struct hostnode *dir, const char *name)
{
	must_hold(&removing);
	list_each (struct hidden, h, &hidden, link)
		if (h->dir->path == dir->path && strcmp(h->name, name) == 0)
			return true;
	return false;
}

static void
hidden_free(struct hidden *h)
{
	list_remove(&h->link);
	vnode_put(&h->dir->vnode);
	kfree(h);
}

void
host_opened(struct hostnode *n)
{
	mutex_lock(&removing);
	list_remove(&n->opened);
	list_append(&opened, &n->opened);
	mutex_unlock(&removing);
}

/* Without the lock if n wasn't opened: it may be a node of ours, below. */
void
host_forget(struct hostnode *n)
{
	struct hidden *h;

	if (list_empty(&n->opened))
		return;
	mutex_lock(&removing);
	list_remove(&n->opened);
	h = is_open(n->path) ? NULL : find_hidden(n->path);
	if (h != NULL) {
		send_unlink(h->dir, h->name, 0);
		hidden_free(h);
	}
	mutex_unlock(&removing);
}

bool
host_is_hidden(const struct hostnode *n)
{
	bool is;

	mutex_lock(&removing);
	is = find_hidden(n->path) != NULL;
	mutex_unlock(&removing);
	return is;
}

/* --- Hiding --- */

/* The file and the type that dir has under this name. */
static int
look(struct hostnode *dir, const char *name, uint64_t *path, mode_t *type)
{
	struct vnode *v;
	int r = host_lookup(&dir->vnode, name, &v);

	if (r < 0)
		return r;
	*path = hostnode_of(v)->path;
	*type = v->type;
	vnode_put(v);
	return 0;
}

/* Make h->name one that h->dir doesn't have. */
static int
choose_name(struct hidden *h)
{
	uint64_t path;
	mode_t type;
	int r = 0;

	for (int i = 0; i < NUMBERS && r == 0; i++) {
		snprintf(h->name, sizeof(h->name), ".tally%d", i);
		r = look(h->dir, h->name, &path, &type);
	}
	return r == 0 ? -EBUSY : r == -ENOENT ? 0 : r;
}

/* Hide a file that isn't hidden yet. */
static int
hide_first(struct hostnode *dir, const char *name, uint64_t path)
{
	struct hidden *h = kzalloc(sizeof(*h));
	int r;

	if (h == NULL)
		return -ENOMEM;
	h->path = path;
	h->dir = dir;
	vnode_ref(&dir->vnode);
	list_append(&hidden, &h->link);
	r = choose_name(h);
	if (r == 0)
		r = send_rename(dir, name, dir, h->name);
	if (r < 0)
		hidden_free(h);
	return r;
}

/* Hide a file, and say in *out how. If it is hidden already, it has had several
 * names: now this one is hidden in place of the other one. */
static int
hide(struct hostnode *dir, const char *name, uint64_t path, struct hidden **out)
{
	int r = 0;

	*out = find_hidden(path);
	if (*out == NULL) {
		r = hide_first(dir, name, path);
		*out = find_hidden(path);
	} else {
		r = send_unlink((*out)->dir, (*out)->name, 0);
		if (r == 0)
			r = send_rename(dir, name, (*out)->dir, (*out)->name);
	}
	return r;
}

int
host_remove(struct vnode *v, const char *name, mode_t type)
{
	struct hostnode *dir = hostnode_of(v);
	struct hidden *h = NULL;
	uint64_t path = 0;
	int r = 0;

	if (S_ISDIR(type))
		return send_unlink(dir, name, L_REMOVEDIR);
	mutex_lock(&removing);
	if (is_hidden(dir, name))
		r = -EBUSY;
	else if (!list_empty(&opened))
		r = look(dir, name, &path, &type);
	if (r == 0)
		r = is_open(path) ? hide(dir, name, path, &h)
				  : send_unlink(dir, name, 0);
	mutex_unlock(&removing);
	return r;
}

/* Hide what a rename replaces, if it is open; *out says how. Only a file that
 * isn't the same one is replaced, and only by a file. */
static int
hide_target(struct hostnode *from, const char *old, struct hostnode *to,
	    const char *new, struct hidden **out)
{
	uint64_t source, target;
	mode_t type;
	int r = look(from, old, &source, &type);

	if (r < 0 || S_ISDIR(type))
		return r;
	r = look(to, new, &target, &type);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (S_ISDIR(type) || target == source || !is_open(target))
		return 0;
	return hide(to, new, target, out);
}

int
host_rename(struct vnode *from, const char *old, struct vnode *to,
	    const char *new, unsigned int flags)
{
	struct hostnode *source = hostnode_of(from), *target = hostnode_of(to);
	struct hidden *h = NULL;
	int r = 0;

	if (flags != 0)
		return -EINVAL; /* the server has no message for these */
	mutex_lock(&removing);
	if (is_hidden(source, old) || is_hidden(target, new))
		r = -EBUSY;
	else if (!list_empty(&opened))
		r = hide_target(source, old, target, new, &h);
	if (r == 0)
		r = send_rename(source, old, target, new);
	if (r < 0 && h != NULL &&
	    send_rename(h->dir, h->name, target, new) == 0)
		hidden_free(h);
	mutex_unlock(&removing);
	return r;
}
