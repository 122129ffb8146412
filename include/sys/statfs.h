/* What a file system is, and how much of it is free. */
#ifndef _SYS_STATFS_H
#define _SYS_STATFS_H

#include <stdint.h>
#include <sys/cdefs.h>

struct statfs {
	int64_t f_type;  /* Linux's number of it */
	int64_t f_bsize; /* bytes of a block */
	uint64_t f_blocks, f_bfree,
	    f_bavail; /* blocks: in all, free, for all */
	uint64_t f_files, f_ffree;
	struct {
		int32_t val[2];
	} f_fsid;
	int64_t f_namelen; /* bytes of a name, at most */
	int64_t f_frsize;  /* the same as f_bsize */
	int64_t f_flags;
	int64_t f_spare[4];
};

__BEGIN_DECLS
int statfs(const char *path, struct statfs *st);
int fstatfs(int fd, struct statfs *st);
__END_DECLS
#endif
