/*
 * System calls, kernel side. Each is a function
 *
 *	long sys_NAME(const unsigned long *arg);
 *
 * whose arguments are arg[0..5] (they lie in the caller's trap frame), and
 * whose result is what user mode gets in a0: a value, or -errno. -ERESTART
 * is never seen there: it means that a signal cut a wait short, and becomes
 * a restart of the call or -EINTR.
 */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include <errno.h>

#define ERESTART 512

#define ECALL_SIZE 4 /* bytes of the instruction; sepc is past it */

#define SYSCALL(number, name) SYS_##name = number,
enum {
#include <sys/syscalls.h>
};
#undef SYSCALL

#define SYSCALL(number, name) long sys_##name(const unsigned long *arg);
#include <sys/syscalls.h>
#undef SYSCALL

/* From trap.c: an ecall from user mode, level 0. */
void syscall(void);

#endif
