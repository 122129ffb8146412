/* Pipes: see pipe.c. When memory runs out the largest process is killed, and
 * the pages of the pipes that it made count as its own (proc/memory.c). */
#ifndef KERNEL_PIPE_H
#define KERNEL_PIPE_H

#include <stddef.h>

struct file;

/* How many pages the pipes that a process made have. Pipes may outlive it, so
 * the process has one reference to this, and each of the pipes another. */
struct kept {
	unsigned int refs; /* atomic */
	size_t pages;      /* atomic */
};

void kept_put(struct kept *k); /* NULL is fine */

/* Make a pipe and two open files on it: end[0] reads, end[1] writes. The
 * caller's reference to kept, where its pages are counted, becomes the pipe's;
 * on failure, -ENOMEM, it is dropped. kept may be NULL: no memory. */
int pipe_create(struct file *end[2], struct kept *kept);
/* How many bytes the pipe f has room for, if it is to have room for `wanted': a
 * pipe doesn't become larger (-EPERM), and needn't become smaller. */
int pipe_room(const struct file *f, unsigned int wanted);

#endif
