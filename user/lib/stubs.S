/*
 * The system calls as functions, one from each line of <sys/syscalls.h>. A
 * result below zero is -errno: the function then gives -1.
 */
	.macro stub number, name
	.section .text.\name, "ax"
	.globl	\name
	.type	\name, @function
\name:
	li	a7, \number
	ecall
	bltz	a0, 1f
	ret
1:	tail	__syscall_error
	.size	\name, . - \name
	.endm

/* C knows these by another name, or wraps them. */
#define exit       _exit
#define fork       __fork
#define brk        __brk
#define sigaction  __sigaction
#define getcwd     __getcwd
#define aix_profil __aix_profil

#define SYSCALL(number, name) stub number, name
#include <sys/syscalls.h>

/* There are no symbolic links, and the data aren't synced apart. */
	.globl	lstat
	.set	lstat, stat
	.globl	fdatasync
	.set	fdatasync, fsync
