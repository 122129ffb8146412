/* Opening files and fcntl(2): Linux's numbers for riscv64, in place of the C
 * library's own. */
#ifndef _FCNTL_H
#define _FCNTL_H

#include <sys/cdefs.h>
#include <sys/stat.h>
#include <sys/types.h>

#define O_ACCMODE   0x3
#define O_RDONLY    0x0
#define O_WRONLY    0x1
#define O_RDWR      0x2
#define O_CREAT     0x40
#define O_EXCL      0x80
#define O_NOCTTY    0x100 /* without effect: no terminal is a process's own */
#define O_TRUNC     0x200
#define O_APPEND    0x400
#define O_NONBLOCK  0x800
#define O_NDELAY    O_NONBLOCK
#define O_DSYNC     0x1000
#define O_DIRECTORY 0x10000
#define O_NOFOLLOW  0x20000
#define O_CLOEXEC   0x80000
#define O_PATH      0x200000 /* to name a file; it can be read, too */
#define O_SYNC      0x101000
#define O_RSYNC     O_SYNC

/* fcntl's commands */
#define F_DUPFD         0
#define F_GETFD         1 /* FD_CLOEXEC or 0 */
#define F_SETFD         2
#define F_GETFL         3 /* as open had them, and F_SETFL */
#define F_SETFL         4 /* of these O_APPEND and O_NONBLOCK */
#define F_GETLK         5 /* with a struct flock: locks of a process */
#define F_SETLK         6
#define F_SETLKW        7
#define F_OFD_GETLK     36 /* the same, of an open file */
#define F_OFD_SETLK     37
#define F_OFD_SETLKW    38
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ    1031 /* without effect; EPERM for more than there is */
#define F_GETPIPE_SZ    1032 /* bytes that a pipe has room for */

#define FD_CLOEXEC 1

/* A lock on a range of a file. */
struct flock {
	short l_type;   /* F_RDLCK, F_WRLCK, F_UNLCK */
	short l_whence; /* where l_start counts from: SEEK_SET.. */
	off_t l_start;
	off_t l_len; /* 0: to the end */
	pid_t l_pid; /* F_GETLK: whose it is; -1: an open file's */
};

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2

/* For the directory of a call whose name ends in `at': the current one. */
#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_EACCESS          0x200 /* of faccessat */
#define AT_REMOVEDIR        0x200 /* of unlinkat */
#define AT_SYMLINK_FOLLOW   0x400
#define AT_NO_AUTOMOUNT     0x800
#define AT_EMPTY_PATH       0x1000 /* the descriptor's file itself */

#define AT_STATX_SYNC_TYPE 0x6000 /* of statx: how new it must be */

/* renameat2's flags */
#define RENAME_NOREPLACE 1 /* EEXIST if the new name is taken */
#define RENAME_EXCHANGE  2 /* each name gets what the other had */

/* posix_fadvise's advice, of which none changes anything */
#define POSIX_FADV_NORMAL     0
#define POSIX_FADV_RANDOM     1
#define POSIX_FADV_SEQUENTIAL 2
#define POSIX_FADV_WILLNEED   3
#define POSIX_FADV_DONTNEED   4
#define POSIX_FADV_NOREUSE    5

#define FALLOC_FL_KEEP_SIZE 1 /* fallocate's mode, or 0 */

__BEGIN_DECLS
int open(const char *path, int flags, ...);
int openat(int dir, const char *path, int flags, ...);
int creat(const char *path, mode_t mode);
int fcntl(int fd, int cmd, ...);
int fallocate(int fd, int mode, off_t offset, off_t size);
/* They return an errno. */
int posix_fadvise(int fd, off_t offset, off_t size, int advice);
int posix_fallocate(int fd, off_t offset, off_t size);
__END_DECLS
#endif
