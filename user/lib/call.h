/*
 * System calls that are made in place. A function under a name that people
 * know then needs no stub below it, which would be the name that profiles show
 * for who waits here.
 */
#ifndef CALL_H
#define CALL_H

enum {
#define SYSCALL(number, name) SYS_##name = number,
#include <sys/syscalls.h>
#undef SYSCALL
};

/* Remembers errno, and gives -1. */
long __syscall_error(long result);

/* Its result, or -1 and errno. */
static inline long
system_call(long number, long arg0, long arg1, long arg2, long arg3, long arg4,
	    long arg5)
{
	register long a7 asm("a7") = number;
	register long a0 asm("a0") = arg0;
	register long a1 asm("a1") = arg1;
	register long a2 asm("a2") = arg2;
	register long a3 asm("a3") = arg3;
	register long a4 asm("a4") = arg4;
	register long a5 asm("a5") = arg5;

	asm volatile("ecall"
		     : "+r"(a0)
		     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
		     : "memory");
	return a0 < 0 ? __syscall_error(a0) : a0;
}

#endif
