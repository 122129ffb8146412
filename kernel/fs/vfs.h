/*
 * Operations on paths: vfs.c has most of them, walk.c vfs_lookup and vfs_path.
 *
 * A path is a string in kernel memory, of at most PATH_MAX_LEN bytes. It starts
 * at the root, or at the directory `at' before it, which is that of the current
 * process if it is NULL. Symbolic links in it are followed; one at its end, the
 * file itself, only by vfs_lookup and vfs_open. Every function returns 0, a
 * count, or a negative errno. They may sleep: call them at level 0, without a
 * spinlock.
 */
#ifndef KERNEL_VFS_H
#define KERNEL_VFS_H

#include <sys/stat.h>
#include <sys/types.h>

struct dirent;
struct file;
struct vnode;

#define PATH_MAX_LEN 1024 /* with the NUL */

/*
 * What files ask of the process that uses them. Processes belong to a higher
 * floor (docs/tour.md), so these are pointers; proc.c sets them. While there is
 * no process yet, when the initial RAM disk is unpacked, there is no directory,
 * and the umask is 0.
 */
struct vfs_process {
	struct vnode *(*cwd)(void); /* referenced; NULL: it has none */
	mode_t (*umask)(void);
	void (*pipe_broken)(void); /* it wrote where nobody reads any more */
};

extern struct vfs_process vfs_process;

void vfs_serve(void); /* set aspace_files: at boot, before anything else */
void vfs_init(void);  /* mount / and /dev, unpack the initrd */
/* Find what path names; *out comes with a reference for the caller. */
int vfs_lookup(struct vnode *at, const char *path, struct vnode **out);
/* The same; but if it is a symbolic link, *out is the link itself. */
int vfs_lookup_link(struct vnode *at, const char *path, struct vnode **out);
/* Open path with the flags of open(2). f is as file_alloc returned it. Even on
 * failure the caller has a reference to f to drop, which may be open then. */
int vfs_open(struct file *f, struct vnode *at, const char *path, int flags,
	     mode_t mode);
int vfs_mkdir(struct vnode *at, const char *path, mode_t mode);
/* type S_IFDIR is rmdir, any other is unlink. */
int vfs_remove(struct vnode *at, const char *path, mode_t type);
/* flags: those of renameat2 */
int vfs_rename(struct vnode *from, const char *old, struct vnode *to,
	       const char *new, unsigned int flags);
int vfs_symlink(const char *target, struct vnode *at, const char *path);
/* Give v another name. */
int vfs_link(struct vnode *v, struct vnode *at, const char *path);
/* Make v exactly size bytes long: cut it, or add zeroes. */
int vfs_truncate(struct vnode *v, off_t size);
/* As the operation readdir, for the two cookies below DIR_COOKIE. */
int vfs_dots(struct vnode *dir, off_t *cookie, struct dirent *de);
/* The path that leads to a file or directory now: its length without the NUL;
 * -ENOENT if it was removed; -ERANGE if it is longer than PATH_MAX_LEN. */
ssize_t vfs_path(struct vnode *v, char buf[PATH_MAX_LEN]);
/* Mount the file system whose root is fs on a directory, which is created if
 * need be. At boot only: a mount is never removed, and a failure is a panic. */
void vfs_mount(const char *path, struct vnode *fs);

#endif
