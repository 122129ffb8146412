/*
 * fork: a process like its parent, down to the registers, but for the 0 that
 * the call gives it.
 *
 * All that can fail is done before the child is in the tree, where signals
 * and wait find it; so a failed fork leaves nothing behind.
 */
#include <string.h>

#include "../syscall.h"
#include "../trap.h"
#include "proc.h"

/* The child's one thread, about to return from the call. NULL: no memory. */
static struct thread *
fork_thread(struct proc *child)
{
	struct thread *t = thread_create(child, trap_return_user);

	if (t == NULL)
		return NULL;
	fp_save(current);
	t->tf = current->tf;
	t->tf.a0 = 0;
	if (t->tf.sstatus & SSTATUS_FS)
		t->fp = current->fp;
	t->sigmask = current->sigmask;
	threads_add(child, t);
	return t;
}

/* What else a child has of its parent, and can be had without failing.
 * Pending signals, times and the alarm are not inherited. */
static void
fork_attributes(struct proc *child, struct proc *parent)
{
	spin_lock(&parent->lock);
	memcpy(child->action, parent->action, sizeof child->action);
	child->sigrestorer = parent->sigrestorer;
	child->umask = parent->umask;
	child->cwd = parent->cwd;
	vnode_ref(child->cwd);
	memcpy(child->name, parent->name, sizeof child->name);
	spin_unlock(&parent->lock);
}

long
sys_fork(const unsigned long *)
{
	struct proc *parent = current->proc;
	struct proc *child = proc_alloc();
	struct thread *t;
	pid_t pid;
	int r;

	if (child == NULL)
		return -ENOMEM;
	child->as = aspace_fork(parent->as);
	t = child->as != NULL ? fork_thread(child) : NULL;
	if (t == NULL) {
		proc_free(child);
		return -ENOMEM;
	}
	fork_attributes(child, parent);
	profil_fork(child, parent);
	r = proc_enter(child, parent);
	if (r < 0) {
		proc_free(child);
		return r;
	}
	fdtable_fork(child->fds, parent->fds);
	pid = child->pid; /* once started, it may be gone at any time */
	thread_wake(t, false);
	return pid;
}
