/* Moving bytes between files and whoever reads and writes them: a program, or
 * the kernel itself (exec, the initial RAM disk). */
#ifndef KERNEL_UIO_H
#define KERNEL_UIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

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
	/* The calls with a vector: `later' of the bytes that are left don't lie
	 * at base, but in the pieces that follow, at next. */
	size_t later;
	const struct iovec *next; /* in kernel memory */
};

/* How many of the bytes that are left lie side by side, at base. */
static inline size_t
uio_piece(const struct uio *u)
{
	return u->left - u->later;
}

/*
 * Move up to n bytes to (uio_to) or from (uio_from) the memory that u stands
 * for, and advance u. Returns the smaller of n and u->left; or -EFAULT: then u
 * is as it was, though some bytes may have been copied. If only a later piece
 * of a vector is bad, uio_to returns how many bytes came before that. The
 * access may fault and sleep, so call it at level 0, without a spinlock.
 */
ssize_t uio_to(struct uio *u, const void *src, size_t n);
ssize_t uio_from(struct uio *u, void *dst, size_t n);
/* Advance u by n bytes, which are left, without moving any. */
void uio_skip(struct uio *u, size_t n);
/* A page of zeroes: what a hole in a file reads as. */
extern const char zeroes[PAGE_SIZE];

#endif
