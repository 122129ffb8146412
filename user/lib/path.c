/*
 * Calls on paths that start at the working directory, which the kernel has only
 * for any directory; and others whose older form it doesn't have.
 */
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_US 1000
#define NS_PER_MS 1000000L
#define US_PER_S  1000000

/* System calls. */
int __faccessat(int dir, const char *path, int mode);
int faccessat2(int dir, const char *path, int mode, int flags);
int __fchmodat(int dir, const char *path, mode_t mode);

int
creat(const char *path, mode_t mode)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int
stat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

int
lstat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int
symlink(const char *target, const char *path)
{
	return symlinkat(target, AT_FDCWD, path);
}

int
link(const char *path, const char *new_path)
{
	return linkat(AT_FDCWD, path, AT_FDCWD, new_path, 0);
}

ssize_t
readlink(const char *restrict path, char *restrict buf, size_t size)
{
	return readlinkat(AT_FDCWD, path, buf, size);
}

int
mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int
unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int
rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int
renameat(int from, const char *old, int to, const char *new)
{
	return renameat2(from, old, to, new, 0);
}

int
rename(const char *old, const char *new)
{
	return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int
faccessat(int dir, const char *path, int mode, int flags)
{
	return faccessat2(dir, path, mode, flags);
}

int
access(const char *path, int mode)
{
	return __faccessat(AT_FDCWD, path, mode);
}

int
fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	if (flags & ~AT_SYMLINK_NOFOLLOW) {
		errno = EINVAL;
		return -1;
	}
	return __fchmodat(dir, path, mode);
}

int
chmod(const char *path, mode_t mode)
{
	return __fchmodat(AT_FDCWD, path, mode);
}

int
chown(const char *path, uid_t uid, gid_t gid)
{
	return fchownat(AT_FDCWD, path, uid, gid, 0);
}

int
lchown(const char *path, uid_t uid, gid_t gid)
{
	return fchownat(AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW);
}

int
utimens(const char *path, const struct timespec times[2])
{
	return utimensat(AT_FDCWD, path, times, 0);
}

/* With both the same, dup2 changes nothing, and dup3 fails. */
int
dup2(int old, int new)
{
	if (old == new)
		return fcntl(old, F_GETFD) < 0 ? -1 : new;
	return dup3(old, new, 0);
}

int
pipe(int fd[2])
{
	return pipe2(fd, 0);
}

/* The kernel stores what is left of a time limit. Of these two calls no one
 * wants to know that. */
int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
      const sigset_t *mask)
{
	struct timespec left;

	if (limit != NULL)
		left = *limit;
	return system_call(SYS_ppoll, (long)fds, n, limit ? (long)&left : 0,
			   (long)mask, sizeof(*mask), 0);
}

int
pselect(int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *limit,
	const sigset_t *mask)
{
	const struct {
		const sigset_t *mask;
		size_t size;
	} blocked = {mask, sizeof(*mask)};
	struct timespec left;

	if (limit != NULL)
		left = *limit;
	return system_call(SYS_pselect6, n, (long)r, (long)w, (long)x,
			   limit ? (long)&left : 0, (long)&blocked);
}

int
poll(struct pollfd *fds, nfds_t n, int milliseconds)
{
	struct timespec limit = {
	    .tv_sec = milliseconds / 1000,
	    .tv_nsec = milliseconds % 1000 * NS_PER_MS,
	};

	return system_call(SYS_ppoll, (long)fds, n,
			   milliseconds < 0 ? 0 : (long)&limit, 0, 0, 0);
}

int
select(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *tv)
{
	struct timespec limit;
	int ready;

	if (tv == NULL)
		return system_call(SYS_pselect6, n, (long)r, (long)w, (long)x,
				   0, 0);
	if (tv->tv_usec < 0 || tv->tv_usec >= US_PER_S) {
		errno = EINVAL;
		return -1;
	}
	limit = (struct timespec){tv->tv_sec, tv->tv_usec * NS_PER_US};
	ready = system_call(SYS_pselect6, n, (long)r, (long)w, (long)x,
			    (long)&limit, 0);
	*tv = (struct timeval){limit.tv_sec, limit.tv_nsec / NS_PER_US};
	return ready;
}
