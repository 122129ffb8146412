/* Files without a name, which a call makes as it opens them: eventfds, timerfds
 * and epolls. Their vnodes have no type, as Linux's. */
#ifndef KERNEL_ANON_H
#define KERNEL_ANON_H

#include "vnode.h"

struct fdtable;
struct file;

/* Prepare v, which is all zeroes. Its operations are complete but for stat. */
void anon_init(struct vnode *v, const struct vnode_ops *ops);
/* The operation stat of all of them; and read or write of those that can't. */
int anon_stat(struct vnode *v, struct stat *st);
ssize_t anon_refuse(struct vnode *v, struct file *f, struct uio *u);
/* Open v for reading and writing, as a new descriptor of t: its number, or an
 * errno. The reference to v is taken over, even on failure. Of flags O_CLOEXEC
 * and O_NONBLOCK count. */
int anon_open(struct fdtable *t, struct vnode *v, int flags);

#endif
