/* What a system call names by a directory's descriptor and a path. */
#ifndef KERNEL_WHERE_H
#define KERNEL_WHERE_H

#include <stdint.h>

#include "fs/vfs.h"
#include "fs/vnode.h"

/* It is on the kernel stack, which has room for two of these, as rename needs,
 * or for one and a path beside it. */
struct where {
	struct vnode *at; /* referenced; NULL: the process's own, or the root */
	char path[PATH_MAX_LEN];
};

/* Copy in the path at address user. dir is the descriptor of the directory, or
 * AT_FDCWD; it isn't looked at if the path is absolute. where_put follows in
 * any case. */
int where_get(struct where *w, int dir, uintptr_t user);

static inline void
where_put(const struct where *w)
{
	if (w->at != NULL)
		vnode_put(w->at);
}

/* What a descriptor stands for: *out, with a reference. */
int where_fd(int fd, struct vnode **out);
/* What a descriptor stands for, or for AT_FDCWD the process's directory: *out,
 * with a reference. */
int where_file(int fd, struct vnode **out);
/* Find what a call names: *out, with a reference. With AT_EMPTY_PATH in flags
 * an empty path stands for what the descriptor does; with AT_SYMLINK_NOFOLLOW a
 * symbolic link for itself. */
int where_lookup(int dir, uintptr_t user, int flags, struct vnode **out);

#endif
