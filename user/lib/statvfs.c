/* Space in file systems, and hints, in POSIX's forms. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

int fadvise64(int fd, off_t offset, off_t size, int advice);

static int
to_posix(int result, const struct statfs *from, struct statvfs *st)
{
	if (result < 0)
		return -1;
	*st = (struct statvfs){
	    .f_bsize = from->f_bsize,
	    .f_frsize = from->f_frsize,
	    .f_blocks = from->f_blocks,
	    .f_bfree = from->f_bfree,
	    .f_bavail = from->f_bavail,
	    .f_files = from->f_files,
	    .f_ffree = from->f_ffree,
	    .f_favail = from->f_ffree,
	    .f_namemax = from->f_namelen,
	};
	return 0;
}

int
statvfs(const char *path, struct statvfs *st)
{
	struct statfs from;

	return to_posix(statfs(path, &from), &from, st);
}

int
fstatvfs(int fd, struct statvfs *st)
{
	struct statfs from;

	return to_posix(fstatfs(fd, &from), &from, st);
}

/* These give an errno, and leave errno itself alone. */
int
posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
	int before = errno;
	int result = fadvise64(fd, offset, size, advice) < 0 ? errno : 0;

	errno = before;
	return result;
}

/* A file that is too short gets a zero as its last byte. */
int
posix_fallocate(int fd, off_t offset, off_t size)
{
	int before = errno, result = 0;

	if (fallocate(fd, 0, offset, size) < 0)
		result = errno;
	if (result == EOPNOTSUPP)
		result = pwrite(fd, "", 1, offset + size - 1) < 0 ? errno : 0;
	errno = before;
	return result;
}
