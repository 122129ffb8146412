/*
 * readv, writev and their like: a read into several pieces of memory, or a
 * write from several, as if they were one. struct uio goes through the pieces
 * (fs/uio.h), so that a file system sees one transfer: a write to a pipe of up
 * to PIPE_BUF bytes comes in one piece, and one to a file at one offset.
 */
#include <errno.h>
#include <stddef.h>

#include "fs/fd.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "mm/kmalloc.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/thread.h"
#include "syscall/transfer.h"

#define PIECES_AT_HAND 8           /* on the kernel stack */
#define TRANSFER_MAX   0x7ffff000u /* bytes: of what is more, these, as Linux */

/* The pieces are checked, and cut if they are too many bytes: their sum. */
static ssize_t
check_pieces(struct iovec *piece, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (piece[i].iov_len > LONG_MAX)
			return -EINVAL;
		if (piece[i].iov_len > TRANSFER_MAX - sum)
			piece[i].iov_len = TRANSFER_MAX - sum;
		sum += piece[i].iov_len;
	}
	return sum;
}

/* Copy in n pieces from address user, and move them. */
static ssize_t
move_pieces(struct file *f, uintptr_t user, size_t n, struct iovec *piece,
	    bool write, const off_t *position)
{
	struct uio u = {.next = piece};
	ssize_t sum;

	if (copy_in(piece, user, n * sizeof(*piece)) < 0)
		return -EFAULT;
	sum = check_pieces(piece, n);
	if (sum < 0)
		return sum;
	u.left = u.later = sum;
	uio_skip(&u, 0); /* to the first piece that has bytes */
	if (position == NULL)
		return transfer_file(f, &u, write, false);
	u.offset = *position;
	return transfer_file(f, &u, write, true);
}

/* position NULL: at the file's own offset. */
static long
transfer_vector(const unsigned long *arg, bool write, const off_t *position)
{
	struct iovec at_hand[PIECES_AT_HAND], *piece = at_hand;
	struct file *f = fd_get(current->proc->fds, arg[0]);
	size_t n = arg[2];
	long r = -EINVAL;

	if (f == NULL)
		return -EBADF;
	if (n <= IOV_MAX) {
		if (n > PIECES_AT_HAND)
			piece = kmalloc(n * sizeof(*piece));
		r = piece != NULL
			? move_pieces(f, arg[1], n, piece, write, position)
			: -ENOMEM;
		if (piece != at_hand)
			kfree(piece);
	}
	file_put(f);
	return r;
}

long
sys_readv(const unsigned long *arg)
{
	return transfer_vector(arg, false, NULL);
}

long
sys_writev(const unsigned long *arg)
{
	return transfer_vector(arg, true, NULL);
}

/* preadv(fd, pieces, n, offset, -): the last one is for 32-bit machines. */
long
sys_preadv(const unsigned long *arg)
{
	off_t position = arg[3];

	return transfer_vector(arg, false, &position);
}

long
sys_pwritev(const unsigned long *arg)
{
	off_t position = arg[3];

	return transfer_vector(arg, true, &position);
}

/* preadv2(fd, pieces, n, offset, -, flags): offset -1 is the file's own. There
 * are no flags. */
long
sys_preadv2(const unsigned long *arg)
{
	off_t position = arg[3];

	if (arg[5] != 0)
		return -EOPNOTSUPP;
	return transfer_vector(arg, false, position != -1 ? &position : NULL);
}

long
sys_pwritev2(const unsigned long *arg)
{
	off_t position = arg[3];

	if (arg[5] != 0)
		return -EOPNOTSUPP;
	return transfer_vector(arg, true, position != -1 ? &position : NULL);
}
