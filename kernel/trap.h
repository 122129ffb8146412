/* Traps: the one way into the kernel, and back. See docs/trap.md. */
#ifndef KERNEL_TRAP_H
#define KERNEL_TRAP_H

#include "thread.h"

/* What a trap of the kernel itself saves, on the kernel stack. */
struct ktrapframe {
	unsigned long ra, t0, t1, t2;
	unsigned long a0, a1, a2, a3, a4, a5, a6, a7;
	unsigned long t3, t4, t5, t6;
	unsigned long scause, stval, sie, sstatus;
	unsigned long s0, sepc;
};

void trap_init_hart(void);
/* Leave for user mode with current's trap frame; for a new thread. */
void trap_return_user(void) __attribute__((noreturn));

/* uaccess.S's fault table: an access in [start, end) to user memory that
 * can't be made goes on at fixup. */
struct fault_entry {
	unsigned long start, end, fixup;
};

extern const struct fault_entry fault_table_start[], fault_table_end[];
extern char peek_fault[]; /* the fixup of an access that serves no fault */

/* trap.S: from trap_vector on ways from and to user mode, but for
 * trap_return_user; from from_kernel to stack_overflow, within the kernel. */
extern char trap_vector[], exit_user[], exit_user_end[];
extern char user_interrupt[], exit_interrupted[];
extern char from_kernel[], stack_overflow[];
extern char idle_wait_end[];
extern char kernel_return[], kernel_return_end[];
void idle_wait(volatile unsigned int *idling);

#endif
