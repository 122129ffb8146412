/* The C library's, and profil(2) as Solaris has it. */
#ifndef _TALLY_UNISTD_H
#define _TALLY_UNISTD_H

#include_next <unistd.h>

#define CLOSE_RANGE_UNSHARE 2 /* without effect: no tables are shared */
#define CLOSE_RANGE_CLOEXEC 4 /* only mark them: exec closes them */

__BEGIN_DECLS
int faccessat(int dir, const char *path, int mode, int flags);
int unlinkat(int dir, const char *path, int flags);
int renameat(int from, const char *old, int to, const char *new);
/* flags: RENAME_* of <fcntl.h> */
int renameat2(int from, const char *old, int to, const char *new,
	      unsigned int flags);
int symlink(const char *target, const char *path);
int symlinkat(const char *target, int dir, const char *path);
int link(const char *path, const char *new_path);
int linkat(int dir, const char *path, int new_dir, const char *new_path,
	   int flags); /* AT_SYMLINK_FOLLOW */
/* The target, as much as fits, without a NUL; its length. */
ssize_t readlink(const char *path, char *buf, size_t size);
ssize_t readlinkat(int dir, const char *path, char *buf, size_t size);
int fchdir(int fd);
int truncate(const char *path, off_t size);
int fdatasync(int fd);
int syncfs(int fd);
/* -1: leave it as it is */
int chown(const char *path, uid_t uid, gid_t gid);
int lchown(const char *path, uid_t uid, gid_t gid); /* of a link itself */
int fchown(int fd, uid_t uid, gid_t gid);
int fchownat(int dir, const char *path, uid_t uid, gid_t gid, int flags);
ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset,
			size_t size, unsigned int flags);
/* All descriptors from first to last; those that aren't open don't matter. */
int close_range(unsigned int first, unsigned int last, int flags);
int dup3(int old, int new, int flags); /* O_CLOEXEC */
int pipe2(int fd[2], int flags);       /* O_CLOEXEC, O_NONBLOCK */
pid_t gettid(void);
__END_DECLS

#ifndef _MON_H /* which has another profil, and precedence */
__BEGIN_DECLS
/*
 * Count where in its text the process is at each clock tick, one of HZ a
 * second: a pc counts at byte ((pc - offset) * scale) >> 16 of the buffer,
 * rounded down to an even number, if it has one. Scale 0x10000 is a byte of
 * buffer per byte of text; 0 and 1 turn counting off. It goes off, too, when a
 * counter reaches 32767 or can't be written. Gives 0; or -1, ENOMEM, and
 * nothing has changed.
 */
int profil(unsigned short *buffer, unsigned int bytes, unsigned int offset,
	   unsigned int scale);
__END_DECLS
#endif

#endif
