/* poll(2). The kernel's select uses the same bits. */
#ifndef _POLL_H
#define _POLL_H

#include <signal.h>
#include <sys/cdefs.h>
#include <time.h>

struct pollfd {
	int fd;
	short events, revents;
};

typedef unsigned long nfds_t;

#define POLLIN   0x1
#define POLLPRI  0x2
#define POLLOUT  0x4
#define POLLERR  0x8
#define POLLHUP  0x10
#define POLLNVAL 0x20

__BEGIN_DECLS
int poll(struct pollfd *fds, nfds_t n, int milliseconds);
/* The same, with these signals blocked meanwhile; NULL: no limit, no change. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
	  const sigset_t *mask);
__END_DECLS
#endif
