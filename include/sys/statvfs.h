/* How much of a file system is free, as POSIX has it. */
#ifndef _SYS_STATVFS_H
#define _SYS_STATVFS_H

#include <sys/cdefs.h>

struct statvfs {
	unsigned long f_bsize, f_frsize;
	unsigned long f_blocks, f_bfree, f_bavail;
	unsigned long f_files, f_ffree, f_favail;
	unsigned long f_fsid;
	unsigned long f_flag;
	unsigned long f_namemax;
};

__BEGIN_DECLS
int statvfs(const char *path, struct statvfs *st);
int fstatvfs(int fd, struct statvfs *st);
__END_DECLS
#endif
