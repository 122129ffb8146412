/* How a process ends, and how its parent comes to know: exit.c. */
#ifndef KERNEL_EXIT_H
#define KERNEL_EXIT_H

#include <signal.h>

struct proc;

/* What SIGCHLD, or waitid, tells of a process's wait status. */
siginfo_t exit_info(pid_t pid, int status);

/* The current process ends, with a wait status as in proc.h. At level 0. */
void proc_exit(int status) __attribute__((noreturn));
/* The current thread ends, and its process if it is the last. At level 0. */
void thread_leave(void) __attribute__((noreturn));
/*
 * Tell p's parent of p's new wait status: by SIGCHLD, unless it doesn't want
 * that for a stop, and by waking its waits. The caller holds proc_tree_lock.
 */
void proc_tell_parent(struct proc *p, int status);

#endif
