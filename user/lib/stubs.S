/*
 * The system calls as functions, one from each line of <sys/syscalls.h>. A
 * result below zero is -errno: the function then gives -1.
 */
	.macro stub number, name
	.set	SYS_\name, \number
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

/* Where a signal's handler returns to. The instruction before is never executed:
 * who looks for a return address's caller looks there. */
	.section .text.__restore, "ax"
	.globl	__restore_here
	.type	__restore, @function
__restore:
	nop
__restore_here:
	li	a7, SYS_sigreturn
	ecall
	ebreak
	.size	__restore, . - __restore

/* There are no symbolic links, and the data aren't synced apart. */
	.globl	lstat
	.set	lstat, stat
	.globl	fdatasync
	.set	fdatasync, fsync
