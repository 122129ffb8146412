/*
 * Files: vnodes (what a name leads to), open files (what a descriptor leads
 * to), and the operations that ramfs, devfs, /host and pipes give them.
 *
 * Every function returns 0, a count, or a negative errno.
 */
#ifndef KERNEL_VFS_H
#define KERNEL_VFS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "../lock.h"
#include "../mm/mm.h"

#define PATH_MAX_LEN 1024 /* with the NUL */
#define NAME_MAX_LEN 255  /* without */

/* One transfer: where the bytes are, how many are left, where in the file. */
struct uio {
	uintptr_t base; /* user address, or kernel address if kernel is set */
	size_t left;
	off_t offset;
	bool kernel;
	bool append; /* a write at the end; the file system sets offset */
};

/* Move up to n bytes to (uio_to) or from the uio's memory, and advance it.
 * The count moved is min(n, left); or -EFAULT. Level 0, no spinlock. */
ssize_t uio_to(struct uio *u, const void *src, size_t n);
ssize_t uio_from(struct uio *u, void *dst, size_t n);
/* What a hole in a file reads as. */
extern const char zeroes[PAGE_SIZE];

struct vnode;
struct file;
struct dirent;

/* What chmod and utimens change; OMIT leaves a thing as it is. */
struct attr {
	int mode;             /* permissions */
	int64_t atime, mtime; /* ns since 1970 */
};

#define OMIT (-1)

/*
 * A file system implements these; a vnode lacking one gets the errno said
 * beside it. Names are one component, never "." (nor "..", but for lookup).
 * Operations on directories do their own locking.
 */
struct vnode_ops {
	/* Directories. lookup: a referenced vnode, or -ENOENT; ".." is asked
	 * too, but not of a mounted root. */
	int (*lookup)(struct vnode *dir, const char *name, struct vnode **out);
	/* A regular file, or a directory, as mode's type says; EEXIST if there
	 * is any by that name. out may be NULL. */
	int (*create)(struct vnode *dir, const char *name, mode_t mode,
		      struct vnode **out); /* EROFS */
	/* An empty directory, or whatever else isn't a directory, as type
	 * says. */
	int (*remove)(struct vnode *dir, const char *name,
		      mode_t type); /* EROFS */
	int (*rename)(struct vnode *from, const char *old, struct vnode *to,
		      const char *new); /* EROFS */
	/* Its own name in its parent, into NAME_MAX_LEN + 1 bytes; -ENOENT if
	 * it was removed. Not asked of a file system's root. */
	int (*name)(struct vnode *dir, char *buf);
	/* The first entry at or past *cookie, which then is past it; 1, or 0
	 * at the end. Cookies are DIR_COOKIE and up: "." and ".." are added
	 * by vfs_dots. f is the open directory. */
	int (*readdir)(struct vnode *dir, struct file *f, off_t *cookie,
		       struct dirent *de);

	/* Any vnode. open and close see the open file come and go; there is
	 * no close when open failed. f is NULL in vnode_read's reads. */
	int (*open)(struct vnode *v, struct file *f);
	void (*close)(struct vnode *v, struct file *f);
	ssize_t (*read)(struct vnode *v, struct file *f, struct uio *u);
	ssize_t (*write)(struct vnode *v, struct file *f, struct uio *u);
	int (*fsync)(struct vnode *v, struct file *f); /* nothing to do */
	int (*ioctl)(struct vnode *v, struct file *f, unsigned int cmd,
		     uintptr_t arg); /* ENOTTY */
	/* select and poll: what is ready, in the bits of <poll.h>. Marks each
	 * queue that is woken when the answer may change as polled. */
	unsigned int (*poll)(struct vnode *v, struct file *f); /* all */
	int (*truncate)(struct vnode *v, off_t size);          /* EINVAL */
	int (*stat)(struct vnode *v, struct stat *st); /* st is all zeroes */
	int (*setattr)(struct vnode *v, const struct attr *a); /* EROFS */
	/* The page that holds offset, referenced, to be mapped read-only. */
	int (*getpage)(struct vnode *v, off_t offset, void **page);
	void (*free)(struct vnode *v); /* the last reference is gone */
};

#define DIR_COOKIE 2

struct vnode {
	const struct vnode_ops *ops;
	unsigned int refs;     /* atomic */
	mode_t type;           /* S_IFREG, S_IFDIR, S_IFCHR or S_IFIFO */
	bool stream;           /* has no offsets: lseek is ESPIPE */
	unsigned int texts;    /* atomic: mappings as program text (ETXTBSY) */
	struct vnode *mounted; /* root of a file system mounted here; final */
	struct vnode *covered; /* of such a root: where it is mounted; final */
};

static inline void
vnode_ref(struct vnode *v)
{
	__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
}

struct file {
	unsigned int refs;   /* atomic: descriptors, and calls in progress */
	int flags;           /* O_ACCMODE, O_APPEND, O_NONBLOCK */
	struct vnode *vnode; /* NULL: not opened yet (fs/fd.c) */
	void *private;       /* whatever the vnode's open puts here */
	struct mutex lock;   /* guards offset */
	off_t offset;
};

static inline void
file_ref(struct file *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
}

void vfs_init(void); /* mount / and /dev, unpack the initrd */
void vnode_init(struct vnode *v, const struct vnode_ops *ops, mode_t type);
void vnode_put(struct vnode *v);
/* A regular file into kernel memory, at an offset: for exec, symbols.c. */
ssize_t vnode_read(struct vnode *v, void *buf, size_t n, off_t offset);
int vnode_stat(struct vnode *v, struct stat *st);

/* Paths start at the root, or at the current process's directory. */
int vfs_lookup(const char *path, struct vnode **out);
/* Open path as open(2) does: O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY.. f is as
 * file_alloc gave it. */
int vfs_open(struct file *f, const char *path, int flags, mode_t mode);
int vfs_mkdir(const char *path, mode_t mode);
/* type: as remove has it. */
int vfs_remove(const char *path, mode_t type);
int vfs_rename(const char *old, const char *new);
/* Cut v, or lengthen it with zeroes. */
int vfs_truncate(struct vnode *v, off_t size);
/* As readdir, for cookies below DIR_COOKIE. */
int vfs_dots(struct vnode *dir, off_t *cookie, struct dirent *de);
/* The path of a directory, as it is called now, into buf; its length. */
ssize_t vfs_path(struct vnode *dir, char buf[PATH_MAX_LEN]);
/* Mount the file system whose root is fs on a directory of /'s, which is made
 * if need be. At boot only: it is there for good, or there is a panic. */
void vfs_mount(const char *path, struct vnode *fs);

struct file *file_alloc(void); /* refs 1, all else zero; NULL: no memory */
/* Give f, as file_alloc gave it, to v; takes over a reference on success. */
int file_open(struct file *f, struct vnode *v, int flags);
void file_put(struct file *f);
unsigned int file_poll(struct file *f);

/* Descriptors of a process (fs/fd.c). */
#define FD_MAX 64

struct fdtable {
	struct spinlock lock; /* level 1; guards file and top */
	struct file *file[FD_MAX];
	bool cloexec[FD_MAX]; /* what a free one has here doesn't matter */
	int top;              /* from here on none was ever used */
};

void fdtable_init(struct fdtable *t);
void fdtable_fork(struct fdtable *child, struct fdtable *parent);
void fdtable_close(struct fdtable *t, bool all); /* or the close-on-exec */
struct file *fd_get(int fd); /* current's, referenced; NULL: EBADF */
/*
 * The lowest free descriptor >= min for f, whose reference it takes over; if
 * there is none, f is let go: -EMFILE. f may be opened afterwards.
 */
int fd_install(struct file *f, int min, bool cloexec);
/* 0 or -EBADF. only: close fd if it stands for that, opened or not; NULL: for
 * any open file. */
int fd_close(int fd, const struct file *only);
/* Make f what fd stands for; takes the reference over. fd is in range. */
int fd_dup2(struct file *f, int fd); /* fd, or -EBUSY */

/* Two open files on a new pipe: end[0] reads, end[1] writes. */
int pipe_create(struct file *end[2]);

struct vnode *ramfs_root(void); /* of a new, empty one; NULL: no memory */
void ustar_unpack(const void *archive, size_t size); /* into / */
void devfs_init(void);                               /* mount /dev */
void hostfs_init(void); /* mount /host, if the machine has one */

#endif
