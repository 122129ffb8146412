/*
 * Walking a path: what walk.c has for vfs.c. Each call on a path begins with
 * the same walk, up to the last component. How the walk ends depends on the
 * call: open looks that component up, mkdir creates it, unlink removes it.
 */
#ifndef KERNEL_WALK_H
#define KERNEL_WALK_H

#include <stdbool.h>

#include "vnode.h"

extern struct vnode *vfs_root; /* set once, at boot */

/*
 * A walk that stands before the last component of its path: the directory that
 * is to contain it, and its name, which need not exist. After walk():
 *
 *	path		dir		name	slash
 *	/tmp/a		/tmp		"a"	false
 *	/tmp/a//	/tmp		"a"	true
 *	a		the current	"a"	false
 *	/		/		""	false
 *
 * An empty name stands for dir itself. No lock is held: the operations on dir
 * find out whether the name has come or gone meanwhile, or dir was removed.
 */
struct walk {
	struct vnode *dir; /* referenced */
	bool slash;        /* the path ended in one: no plain file will do */
	char name[NAME_MAX_LEN + 1];
};

/* Walk all of path except its last component. On success the caller has a
 * reference to w->dir, which is a directory; on failure it has none. */
int walk(const char *path, struct walk *w);
/* Walk the last component as well: w->dir becomes what the path names, and is
 * referenced in any case. After -ENOENT it is still the parent, so the name can
 * be created there; after any other failure it may be either. */
int walk_last(struct walk *w);
/*
 * Go from the directory *at to what it has by this name, and on to the root of
 * what is mounted there. The reference to the old *at is exchanged for one to
 * the new. On failure *at is still a directory, and referenced; but after a
 * failed ".." it may be the directory that the old one was mounted on.
 */
int walk_step(struct vnode **at, const char *name);

static inline bool
is_dots(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#endif
