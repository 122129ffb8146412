/* epoll: the files of a list that are ready. The numbers are Linux's. */
#ifndef _SYS_EPOLL_H
#define _SYS_EPOLL_H

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/cdefs.h>

struct epoll_event {
	uint32_t events; /* those of <poll.h>, and: */
	uint64_t data;   /* whatever the program wants to find here */
};

#define EPOLLEXCLUSIVE 0x10000000 /* accepted, without effect */
#define EPOLLONESHOT   0x40000000 /* report once, until it is set again */
#define EPOLLET        0x80000000 /* report only when something has come */

#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

__BEGIN_DECLS
int epoll_create1(int flags);
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int epoll_pwait(int epoll, struct epoll_event *events, int n, int milliseconds,
		const sigset_t *mask, size_t mask_size);
__END_DECLS
#endif
