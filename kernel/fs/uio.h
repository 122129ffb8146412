/* Moving bytes between files and whoever reads and writes them: a program, or
 * the kernel itself (exec, the initial RAM disk). */
#ifndef KERNEL_UIO_H
#define KERNEL_UIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/layout.h"

/*
 * One transfer, and how far it has come. A file's read or write moves bytes by
 * uio_to and uio_from, piece by piece. These advance base, left and offset
 * together, so the file needs no count of its own.
 */
struct uio {
	uintptr_t base; /* user address, or kernel address if kernel is set */
	size_t left;
	off_t offset;
	bool kernel;
	bool append; /* a write at the end; the file system sets offset */
};

/*
 * Move up to n bytes to (uio_to) or from (uio_from) the memory that u stands
 * for, and advance u. Returns the smaller of n and u->left; or -EFAULT: then u
 * is as it was, though some bytes may have been copied. The access may fault
 * and sleep, so call it at level 0, without a spinlock.
 */
ssize_t uio_to(struct uio *u, const void *src, size_t n);
ssize_t uio_from(struct uio *u, void *dst, size_t n);
/* A page of zeroes: what a hole in a file reads as. */
extern const char zeroes[PAGE_SIZE];

#endif
