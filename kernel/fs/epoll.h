/* Epolls: lists of files to be asked what is ready. See epoll.c. */
#ifndef KERNEL_EPOLL_H
#define KERNEL_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

struct fdtable;
struct file;
struct vnode;

/* An event that is reported, and by which watch. */
struct epoll_report {
	struct epoll_event event;
	unsigned long watch;
};

/* A new epoll, as a descriptor of t: its number, or an errno. */
int epoll_create(struct fdtable *t, int flags);
/* Is f one? The other functions want the vnode of one. */
bool epoll_is(const struct file *f);
/* Do what op says to the watch of f, which is known as fd: 0 or an errno. The
 * event isn't looked at by EPOLL_CTL_DEL. */
int epoll_control(struct vnode *epoll, int op, struct file *f, int fd,
		  const struct epoll_event *event);
/* Report at most max events that there are now. Returns how many. */
int epoll_collect(struct vnode *epoll, struct epoll_report *report, int max);
/* A report couldn't be passed on: it is to be made again. */
void epoll_give_back(struct vnode *epoll, const struct epoll_report *report);
/* f, which is watched, is about to be closed. */
void epoll_forget(struct file *f);

#endif
