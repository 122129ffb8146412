/*
 * fork: a new process like its parent, down to the registers, except that the
 * call returns 0 in it.
 *
 * The child has one thread, a copy of the one that called fork; and its memory
 * is shared until one side writes (aspace_fork). All that can fail is done
 * before the child is in the tree, where signals and wait find it. So a failed
 * fork leaves nothing behind: proc_free suffices.
 */
#include <errno.h>
#include <string.h>

#include "base/riscv.h"
#include "fs/fd.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "sched/entry.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "proc.h"
#include "threads.h"

/*
 * The child's one thread, about to return from the call: it starts with a copy
 * of this thread's trap frame. fp_save comes first: the floating-point
 * registers may be in the hart only, and it changes FS in the frame.
 */
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

/* What else a child inherits: not pending signals, times or the alarm. */
static void
fork_attributes(struct proc *child, struct proc *parent)
{
	spin_lock(&parent->lock);
	memcpy(child->action, parent->action, sizeof(child->action));
	child->sigrestorer = parent->sigrestorer;
	child->umask = parent->umask;
	child->cwd = parent->cwd;
	vnode_ref(child->cwd);
	child->program = parent->program;
	vnode_ref(child->program);
	memcpy(child->name, parent->name, sizeof(child->name));
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
	proc_profil->fork(child, parent);
	r = proc_enter(child, parent);
	if (r < 0) {
		proc_free(child);
		return r;
	}
	fdtable_fork(child->fds, parent->fds);
	proc_observer()->born(child, t);
	pid = child->pid; /* once it runs, it may end and be freed */
	thread_wake(t, false);
	return pid;
}
