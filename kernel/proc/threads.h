/* The threads of a process: threads.c. */
#ifndef KERNEL_THREADS_H
#define KERNEL_THREADS_H

#include <stdbool.h>

#include "proc.h"

#define THREADS_MAX 512 /* of a process */
/* Free those of p's ended threads that have left their stacks. */
void threads_reap(struct proc *p);
/* Make t one of p's threads. False: p has THREADS_MAX, ends, or is in exec. */
bool threads_add(struct proc *p, struct thread *t);
/* Has any process a thread of this number? */
bool threads_exist(pid_t tid);
/*
 * For exec: end all other threads of the current process, and wait until they
 * have left. 0, or -ERESTART: this thread has to leave itself.
 */
int threads_alone(void);

/*
 * Has the current thread been told to leave its process, because that ends or
 * another thread execs? Read without locks: whoever sets the state tells the
 * threads afterwards (signal_tell).
 */
static inline bool
thread_must_leave(void)
{
	struct proc *p = current->proc;

	return proc_state_now(p) >= PROC_EXITING ||
	       (p->alone != NULL && p->alone != current);
}

/*
 * A new thread of p, which will run start() once it has been added
 * (threads_add) and woken up (thread_wake). p is NULL for a hart's idle thread,
 * as which the hart starts. NULL: no memory. At level 0: see kstack_alloc.
 */
struct thread *thread_create(struct proc *p, void (*start)(void));
void thread_free(struct thread *t);

/* A number for a thread's context: when it is made, and when it execs. */
unsigned short context_new(void);

#endif
