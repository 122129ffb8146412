/*
 * The way to user mode, for the rooms below trap.S, and addresses that tell
 * where a sample was taken. None of these is a function that returns.
 */
#ifndef KERNEL_ENTRY_H
#define KERNEL_ENTRY_H

/* Leave for user mode with the registers in current's trap frame. */
void trap_return_user(void) __attribute__((noreturn));

/* From trap_vector to from_kernel code is on the way from or to user mode, but
 * for trap_return_user; from there to stack_overflow it serves kernel traps. */
extern char trap_vector[], exit_user[], exit_user_end[];
extern char user_interrupt[], exit_interrupted[];
extern char from_kernel[], stack_overflow[];

#endif
