/* Traps: the one way into the kernel, and back. See trap.S and docs/trap.md. */
#ifndef KERNEL_TRAP_H
#define KERNEL_TRAP_H

#include "sched/thread.h"

/* Have this hart's traps come to trap_vector. SIE stays 0. */
void trap_init_hart(void);

/* trap.S: the restartable way back from an interrupt of the kernel. */
extern char kernel_return[], kernel_return_end[];

#endif
