/* Walking a path: between walk.c and vfs.c, which ends each walk its way. */
#ifndef KERNEL_WALK_H
#define KERNEL_WALK_H

#include "vfs.h"

extern struct vnode *vfs_root; /* set once, at boot */

/*
 * Where a walk has come to: the directory that holds the path's last
 * component, which may not exist. An empty name stands for dir itself: the
 * path was "/".
 */
struct walk {
	struct vnode *dir; /* referenced */
	bool slash;        /* the path ended in one: no plain file will do */
	char name[NAME_MAX_LEN + 1];
};

/* Walk all of path but its last component; on failure w holds nothing. */
int walk(const char *path, struct walk *w);
/* Walk the last component too: w->dir becomes what the path names. On -ENOENT
 * it is the parent still; other failures leave either. */
int walk_last(struct walk *w);
/* From the directory *at to what name says; the reference moves along. On
 * failure *at is a directory still, and still referenced. */
int walk_step(struct vnode **at, const char *name);

/* Is name "." or ".."? */
static inline bool
is_dots(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#endif
