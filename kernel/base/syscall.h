/*
 * System calls, kernel side. Each is a function
 *	long sys_NAME(const unsigned long *arg);
 *
 * arg[0..5] are its arguments; they lie side by side in the caller's trap
 * frame, as a0 to a5, and aren't copied. The result is what user mode gets in
 * a0: a value, or -errno. -ERESTART means that a signal cut a wait short: the
 * call is restarted, or fails with EINTR.
 *
 * Each is defined in the room that it is about. Only the table
 * (syscall/table.c) calls them, and it lies above these rooms; so they are
 * declared here, below all.
 */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include <errno.h>

/* sys/syscalls.h is a list of such lines: here it makes the numbers, SYS_NAME,
 * and then the declarations. */
#define SYSCALL(number, name) SYS_##name = number,
enum {
#include <sys/syscalls.h>
};
#undef SYSCALL

#define SYSCALL(number, name) long sys_##name(const unsigned long *arg);
#include <sys/syscalls.h>
#undef SYSCALL

#endif
