/* The table of system calls. */
#ifndef KERNEL_TABLE_H
#define KERNEL_TABLE_H

/* Do the system call that current's trap frame asks for: its number is in a7.
 * At level 0. */
void syscall(void);
/* -ENOSYS, which the console is told of (missing.c). */
long missing_call(unsigned long number);

#endif
