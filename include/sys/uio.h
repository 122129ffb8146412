/* Reading into several pieces of memory, and writing from several. */
#ifndef _SYS_UIO_H
#define _SYS_UIO_H

#include <stddef.h>
#include <sys/cdefs.h>
#include <sys/types.h>

struct iovec {
	void *iov_base;
	size_t iov_len;
};

#define IOV_MAX    1024 /* pieces in a call */
#define UIO_MAXIOV IOV_MAX

__BEGIN_DECLS
/* As one read or write of all pieces, one after the other. */
ssize_t readv(int fd, const struct iovec *pieces, int n);
ssize_t writev(int fd, const struct iovec *pieces, int n);
/* At an offset, not the file's. */
ssize_t preadv(int fd, const struct iovec *pieces, int n, off_t offset);
ssize_t pwritev(int fd, const struct iovec *pieces, int n, off_t offset);
__END_DECLS
#endif
