/* Signals: how they are sent, noticed and delivered. See signal.c. */
#ifndef KERNEL_SIGNAL_H
#define KERNEL_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "threads.h"

/*
 * Send a signal to a process, which mustn't be freed meanwhile, or to a group.
 * signal_post is for a caller that holds proc_tree_lock, and does nothing for
 * signal 0. The result: is there a process to take it that isn't about to end?
 */
void signal_send(struct proc *p, int sig);
bool signal_send_group(pid_t pgrp, int sig);
bool signal_post(struct proc *p, int sig);
/*
 * Wake up p's threads that don't block sig, and have them look for signals, or
 * whether they must leave or stop, on their way to user mode. For the latter
 * sig is SIGKILL, which no thread blocks. The caller holds p->lock.
 */
void signal_tell(struct proc *p, int sig);
/* Is the current process about to end or stop? Under proc_tree_lock. */
bool signal_halting(void);
/* On the way to user mode, at level 0: act on what is pending. */
void signal_deliver(void);
/* The current thread has caused an exception, and gets sig for it. */
void signal_fault(int sig);
/* For exec: reset all handlers, which are gone with the old program. */
void signal_exec(struct proc *p);
/* From now on the current thread blocks mask, but not SIGKILL or SIGSTOP. */
void signal_set_mask(sigset_t mask);

/* Let the current thread go on in a handler (signal_frame.c). 0 or -EFAULT. */
int signal_push_frame(const siginfo_t *info, uintptr_t handler);

/* Must the current thread act on a signal, or leave? Ends wait_on's wait. */
static inline bool
signal_pending(void)
{
	struct proc *p = current->proc;

	return p != NULL &&
	       (thread_must_leave() ||
		((__atomic_load_n(&p->sigpending, __ATOMIC_RELAXED) |
		  __atomic_load_n(&current->sigpending, __ATOMIC_RELAXED)) &
		 ~current->sigmask) != 0);
}

/* Is the current thread about to end, whatever it does? */
static inline bool
proc_is_killed(void)
{
	return thread_must_leave() ||
	       __atomic_load_n(&current->proc->sigpending, __ATOMIC_RELAXED) &
		   sigmask(SIGKILL);
}

#endif
