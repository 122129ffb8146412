/* Signals: how they are sent, noticed and delivered. See signal.c. */
#ifndef KERNEL_SIGNAL_H
#define KERNEL_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "threads.h"

/* By default these stop the process, or do nothing. */
#define SIGNALS_STOP                                              \
	(sigmask(SIGSTOP) | sigmask(SIGTSTP) | sigmask(SIGTTIN) | \
	 sigmask(SIGTTOU))
#define SIGNALS_IGNORED (sigmask(SIGCHLD) | sigmask(SIGURG) | sigmask(SIGWINCH))

/*
 * Sending (signal_send.c). signal_info is what is told of a signal: that the
 * kernel sends it, with SI_KERNEL; else that the current process does.
 */
siginfo_t signal_info(int sig, int code);
/*
 * Send a signal to process p, which mustn't be freed meanwhile; to its thread
 * tid only, unless that is 0. The caller holds proc_tree_lock. Signal 0 only
 * asks. 0; -ESRCH: there is no such thread, or p is about to end; or -EAGAIN,
 * which is possible only for a real-time signal.
 */
int signal_post(struct proc *p, pid_t tid, const siginfo_t *info);
/* From the kernel, to a process or a group. The result: is there a process to
 * take it that isn't about to end? */
void signal_send(struct proc *p, int sig);
bool signal_send_group(pid_t pgrp, int sig);
/*
 * Wake up p's threads that don't block sig, and have them look for signals, or
 * whether they must leave or stop, on their way to user mode. For the latter
 * sig is SIGKILL, which no thread blocks. The caller holds p->lock.
 */
void signal_tell(struct proc *p, int sig);
/* What p does on sig. The caller holds p->lock. */
static inline struct sigaction *
signal_action(struct proc *p, int sig)
{
	must_hold(&p->lock);
	return &p->action[sig];
}

/* Would sig have no effect on p? The caller holds p->lock. */
bool signal_ignored(struct proc *p, int sig);
/* The current thread has caused an exception, and gets sig for it. */
void signal_fault(int sig, int code, uintptr_t address);

/* Is the current process about to end or stop? Under proc_tree_lock. */
bool signal_halting(void);
/* On the way to user mode, at level 0: act on what is pending. */
void signal_deliver(void);
/* For exec: reset all handlers, which are gone with the old program. */
void signal_exec(struct proc *p);

/* From now on the current thread blocks mask, but not SIGKILL or SIGSTOP. */
void signal_set_mask(sigset_t mask);
/* The same until the call returns: the old mask is restored after a signal, or
 * by signal_unswap_mask if none has come. */
void signal_swap_mask(sigset_t mask);
void signal_unswap_mask(void);
/* A user's set of signals: 0, -EFAULT, or -EINVAL for one of another size. */
int signal_copy_in_set(sigset_t *set, uintptr_t user, size_t size);

/* Let the current thread go on in act's handler (signal_frame.c). 0 or
 * -EFAULT. */
int signal_push_frame(const siginfo_t *info, const struct sigaction *act);

/* The page to which handlers return (signal_page.c): make it, at boot; map it
 * in a new address space, 0 or an error of aspace_map's. */
struct aspace;
void signal_page_init(void);
int signal_page_map(struct aspace *as);

/* Must the current thread act on a signal, or leave? Ends wait_on's wait. */
static inline bool
signal_pending(void)
{
	struct proc *p = current->proc;

	return p != NULL &&
	       (thread_must_leave() ||
		((__atomic_load_n(&p->pending.set, __ATOMIC_RELAXED) |
		  __atomic_load_n(&current->pending.set, __ATOMIC_RELAXED)) &
		 ~current->sigmask) != 0);
}

/* Is the current thread about to end, whatever it does? */
static inline bool
proc_is_killed(void)
{
	return thread_must_leave() ||
	       __atomic_load_n(&current->proc->pending.set, __ATOMIC_RELAXED) &
		   sigmask(SIGKILL);
}

#endif
