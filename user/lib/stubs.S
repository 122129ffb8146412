/*
 * The system calls as functions, one from each line of <sys/syscalls.h>. A
 * result below zero is -errno: the function then gives -1.
 */
#define AT_FDCWD -100 /* as in <fcntl.h>, which is C */

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
#define exit       __exit_thread
#define exit_group _exit
#define brk        __brk
#define clone      __clone
#define timer_create __timer_create
#define clock_nanosleep __clock_nanosleep
#define futex      __futex
#define getcwd     __getcwd
#define faccessat  __faccessat
#define fchmodat   __fchmodat
#define newfstatat fstatat
#define pread64    pread
#define pwrite64   pwrite
#define pselect6   __pselect6
#define ppoll      __ppoll
#define aix_profil __aix_profil
/* These give something else than C expects. */
#define getpriority       __getpriority
#define sched_getaffinity __sched_getaffinity

#define SYSCALL(number, name) stub number, name
#include <sys/syscalls.h>

/*
 * The oldest calls, as the newer ones that the kernel has: open starts at the
 * working directory, waitpid asks for no resources. They are written here as
 * they need no stack: after a fork its first page that is written is copied.
 */
	.macro older name
	.section .text.\name, "ax"
	.globl	\name
	.type	\name, @function
\name:
	.endm

	older	open
	mv	a3, a2
	mv	a2, a1
	mv	a1, a0
	li	a0, AT_FDCWD
	tail	openat
	.size	open, . - open

	older	waitpid
	li	a3, 0
	tail	wait4
	.size	waitpid, . - waitpid

/*
 * long __clone_thread(unsigned long flags, void *sp, int *parent_tid, void *tp,
 *		       int *child_tid, void (*start)(void *), void *arg)
 *
 * clone for a thread: the new one can't return from here, as it has another
 * stack. It goes to start(arg), which doesn't return, with no frame before its
 * own: there ends who follows frame pointers. Gives the tid, or -errno.
 */
	.section .text.__clone_thread, "ax"
	.globl	__clone_thread
	.type	__clone_thread, @function
__clone_thread:
	li	a7, SYS___clone
	ecall
	beqz	a0, 1f
	ret
1:	li	ra, 0
	li	s0, 0
	mv	a0, a6
	jr	a5
	.size	__clone_thread, . - __clone_thread
