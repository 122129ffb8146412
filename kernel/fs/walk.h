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

#define LINKS_MAX 40 /* symbolic links on the way of one walk */

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
 * An empty name stands for dir itself. Where symbolic links are followed, the
 * path is what they make of it: if /tmp/a is a link to /usr/b, walk_last leads
 * on from /tmp and "a" to /usr and "b". No lock is held: the operations on dir
 * find out whether the name has come or gone meanwhile, or dir was removed.
 */
struct walk {
	struct vnode *dir;  /* referenced */
	unsigned int links; /* that were followed */
	bool before_last;   /* false: it failed earlier on the way */
	bool slash;         /* the path ended in one: no plain file will do */
	char name[NAME_MAX_LEN + 1];
};

/* Walk all of path, which starts at the directory `at' if it isn't absolute
 * (NULL: the process's own), except its last component. On success the caller
 * has a reference to w->dir, which is a directory; on failure it has none. */
int walk(struct vnode *at, const char *path, struct walk *w);
/*
 * Walk the last component as well: w->dir becomes what the path names. If that
 * is a symbolic link, it is followed if `follow' is set or there is a slash
 * behind it. w->dir is referenced in any case. If w->before_last is still set
 * after -ENOENT, the name can be created in w->dir.
 */
int walk_last(struct walk *w, bool follow);
/*
 * Go from the directory *at to what it has by this name, and on to the root of
 * what is mounted there. Links aren't followed. The reference to the old *at is
 * exchanged for one to the new. On failure *at is still a directory, and
 * referenced; but after a failed ".." it may be the directory that the old one
 * was mounted on.
 */
int walk_step(struct vnode **at, const char *name);

static inline bool
is_dots(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#endif
