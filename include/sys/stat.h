/* What a file is: struct stat as Linux has it on riscv64. In place of the C
 * library's own file. */
#ifndef _SYS_STAT_H
#define _SYS_STAT_H

#include <stdint.h>
#include <sys/cdefs.h>
#include <sys/types.h>
#include <time.h>

struct stat {
	uint64_t st_dev;
	uint64_t st_ino;
	uint32_t st_mode;
	uint32_t st_nlink;
	uint32_t st_uid, st_gid;
	uint64_t st_rdev;
	uint64_t __unused_1;
	off_t st_size;      /* bytes */
	int32_t st_blksize; /* bytes that are best moved at once */
	int32_t __unused_2;
	int64_t st_blocks; /* of 512 bytes each */
	struct timespec st_atim, st_mtim, st_ctim;
	uint32_t __unused_3[2];
};

/* statx(2): the same and more, wherever it comes from. */
struct statx_timestamp {
	int64_t tv_sec;
	uint32_t tv_nsec;
	int32_t __reserved;
};

struct statx {
	uint32_t stx_mask; /* what of this is known */
	uint32_t stx_blksize;
	uint64_t stx_attributes;
	uint32_t stx_nlink, stx_uid, stx_gid;
	uint16_t stx_mode, __spare0;
	uint64_t stx_ino, stx_size, stx_blocks, stx_attributes_mask;
	struct statx_timestamp stx_atime, stx_btime, stx_ctime, stx_mtime;
	uint32_t stx_rdev_major, stx_rdev_minor;
	uint32_t stx_dev_major, stx_dev_minor;
	uint64_t __spare[14];
};

#define STATX_BASIC_STATS 0x7ff      /* all that struct stat has */
#define STATX__RESERVED   0x80000000 /* EINVAL */

#define st_atime st_atim.tv_sec
#define st_mtime st_mtim.tv_sec
#define st_ctime st_ctim.tv_sec

/* st_mode: the type */
#define S_IFMT   0170000
#define S_IFSOCK 0140000
#define S_IFLNK  0120000
#define S_IFREG  0100000
#define S_IFBLK  0060000
#define S_IFDIR  0040000
#define S_IFCHR  0020000
#define S_IFIFO  0010000

#define S_ISSOCK(mode) (((mode)&S_IFMT) == S_IFSOCK)
#define S_ISLNK(mode)  (((mode)&S_IFMT) == S_IFLNK)
#define S_ISREG(mode)  (((mode)&S_IFMT) == S_IFREG)
#define S_ISBLK(mode)  (((mode)&S_IFMT) == S_IFBLK)
#define S_ISDIR(mode)  (((mode)&S_IFMT) == S_IFDIR)
#define S_ISCHR(mode)  (((mode)&S_IFMT) == S_IFCHR)
#define S_ISFIFO(mode) (((mode)&S_IFMT) == S_IFIFO)

/* and the permissions */
#define S_ISUID 04000
#define S_ISGID 02000
#define S_ISVTX 01000
#define S_IRWXU 00700
#define S_IRUSR 00400
#define S_IWUSR 00200
#define S_IXUSR 00100
#define S_IRWXG 00070
#define S_IRGRP 00040
#define S_IWGRP 00020
#define S_IXGRP 00010
#define S_IRWXO 00007
#define S_IROTH 00004
#define S_IWOTH 00002
#define S_IXOTH 00001

/* In place of tv_nsec in utimensat(2)'s times. */
#define UTIME_NOW  0x3fffffffL /* the time it is */
#define UTIME_OMIT 0x3ffffffeL /* leave it as it was */

__BEGIN_DECLS
int stat(const char *path, struct stat *st);
int fstat(int fd, struct stat *st);
int lstat(const char *path, struct stat *st); /* not followed */
int fstatat(int dir, const char *path, struct stat *st, int flags);
/* Times of access and of change; NULL: now. */
int utimens(const char *path, const struct timespec times[2]);
int utimensat(int dir, const char *path, const struct timespec times[2],
	      int flags);
int mkdir(const char *path, mode_t mode);
int mkdirat(int dir, const char *path, mode_t mode);
int statx(int dir, const char *path, int flags, unsigned int mask,
	  struct statx *st);
int chmod(const char *path, mode_t mode);
int fchmod(int fd, mode_t mode);
int fchmodat(int dir, const char *path, mode_t mode, int flags);
mode_t umask(mode_t mask);
__END_DECLS
#endif
