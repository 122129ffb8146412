/*
 * clone: a new process, or a new thread of this one. Either begins with a
 * thread like the one that called, down to the registers, except that the call
 * returns 0 in it, and that it may have another stack and another tp.
 *
 * fork: a child's memory is shared until one side writes (aspace_fork). All
 * that can fail is done before the child is in the tree, where signals and wait
 * find it. So a failed fork leaves nothing behind: proc_free suffices.
 *
 * vfork: the child has the very memory of its parent, until it execs or ends;
 * meanwhile the thread that called waits. posix_spawn needs that: its child
 * stores there why exec failed.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "base/riscv.h"
#include "fs/fd.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/entry.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "proc.h"
#include "signal.h"
#include "threads.h"

/* A new thread's first steps: only here is the child's memory its own. */
static void
begin(void)
{
	pid_t tid = current->tid;

	if (current->set_tid != 0)
		copy_out(current->set_tid, &tid, sizeof(tid));
	trap_return_user();
}

/*
 * A thread of p that is about to return from clone(flags, stack, parent_tid,
 * tp, child_tid); its caller sets a0 to the 0 that it returns. fp_save comes
 * first: the floating-point registers may be in the hart only, and it changes
 * FS in the frame.
 */
static struct thread *
clone_thread(struct proc *p, const unsigned long *arg)
{
	struct thread *t = thread_create(p, begin);

	if (t == NULL)
		return NULL;
	fp_save(current);
	t->tf = current->tf;
	if (arg[1] != 0)
		t->tf.sp = arg[1];
	if (arg[0] & CLONE_SETTLS)
		t->tf.tp = arg[3];
	if (arg[0] & CLONE_CHILD_SETTID)
		t->set_tid = arg[4];
	if (arg[0] & CLONE_CHILD_CLEARTID)
		t->clear_tid = arg[4];
	if (t->tf.sstatus & SSTATUS_FS)
		t->fp = current->fp;
	t->sigmask = current->sigmask;
	memcpy(t->name, current->name, sizeof(t->name));
	if (!(arg[0] & CLONE_THREAD)) {
		t->altstack = current->altstack;
		t->altstack_size = current->altstack_size;
	}
	return t;
}

/* The number of what is new is stored before it runs. That the word can't be
 * written is the program's own affair, as in Linux. */
static pid_t
tell_parent(const unsigned long *arg, pid_t tid)
{
	if (arg[0] & CLONE_PARENT_SETTID)
		copy_out(arg[2], &tid, sizeof(tid));
	return tid;
}

/* A thread of this process: its tid, or -EAGAIN. */
static long
new_thread(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct thread *t;
	pid_t tid;

	threads_reap(p);
	if (!page_spare(0, LEFT_BY_PROGRAMS))
		return -EAGAIN;
	t = clone_thread(p, arg);
	if (t == NULL)
		return -EAGAIN;
	t->tf.a0 = 0;
	t->work = WORK_SIGNAL; /* the others may just have been told to stop */
	if (!threads_add(p, t)) {
		thread_free(t);
		return -EAGAIN;
	}
	proc_observer()->born(p, t);
	tid = tell_parent(arg, t->tid);
	thread_wake(t, false);
	return tid;
}

/* What else a child inherits: not pending signals, times or the alarm. */
static void
fork_attributes(struct proc *child, struct proc *parent)
{
	spin_lock(&parent->lock);
	memcpy(child->action, parent->action, sizeof(child->action));
	child->umask = parent->umask;
	child->cwd = parent->cwd;
	vnode_ref(child->cwd);
	child->program = parent->program;
	vnode_ref(child->program);
	memcpy(child->name, parent->name, sizeof(child->name));
	spin_unlock(&parent->lock);
}

static struct aspace *
fork_memory(struct aspace *as, bool shared)
{
	if (!shared)
		return aspace_fork(as);
	aspace_ref(as);
	return as;
}

/* All of a child that isn't in the tree yet; NULL: no memory. *t: its thread.
 * Without locks: nobody else knows of it. Exact profiles know by this function
 * that what begins is a process (tally/plugins/landmarks.py). */
static UNGUARDED __attribute__((noinline)) struct proc *
make_child(const unsigned long *arg, struct vfork *vfork, struct thread **t)
{
	struct proc *parent = current->proc, *child = proc_alloc();

	if (child == NULL)
		return NULL;
	if (arg[0] & CLONE_VFORK)
		child->vfork = vfork;
	child->as = fork_memory(parent->as, arg[0] & CLONE_VM);
	*t = child->as != NULL ? clone_thread(child, arg) : NULL;
	if (*t == NULL) {
		proc_free(child);
		return NULL;
	}
	(*t)->tf.a0 = 0;
	threads_add(child, *t);
	fork_attributes(child, parent);
	proc_profil->fork(child, parent);
	return child;
}

/* A child that isn't over yet hasn't ended, so it is still there. */
static void
await_vfork(struct proc *child, struct vfork *vfork)
{
	int r = 0;

	spin_lock(&proc_tree_lock);
	while (!vfork->over && r == 0)
		r = wait_killable(&vfork->wait, &proc_tree_lock);
	if (!vfork->over)
		child->vfork = NULL;
	spin_unlock(&proc_tree_lock);
}

/* A child of this process: its pid, -ENOMEM or -ERESTART. */
static long
new_process(const unsigned long *arg)
{
	struct vfork vfork = {
	    .wait = WAITQ_FOR(vfork.wait, WAITS_CHILD, 0),
	};
	struct proc *parent = current->proc, *child;
	struct thread *t;
	pid_t pid;
	int r;

	child = make_child(arg, &vfork, &t);
	if (child == NULL)
		return -ENOMEM;
	r = fdtable_fork(child->fds, parent->fds);
	if (r == 0)
		r = proc_enter(child, parent);
	if (r < 0) {
		fdtable_close(child->fds, true);
		proc_free(child);
		return r;
	}
	proc_observer()->born(child, t);
	/* Once it runs, it may end and be freed. */
	pid = tell_parent(arg, child->pid);
	thread_wake(t, false);
	if (arg[0] & CLONE_VFORK)
		await_vfork(child, &vfork);
	return pid;
}

/*
 * clone(flags, stack, int *parent_tid, tp, int *child_tid): a thread shares all
 * with its process, and a child shares nothing, or memory as vfork has it. The
 * low byte of flags is the signal that tells the parent of a child's end:
 * SIGCHLD here. What lies between is -EINVAL, and so are name spaces.
 */
#define OF_THREAD \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define OF_EITHER                                                  \
	(CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | \
	 CLONE_CHILD_CLEARTID | CLONE_SYSVSEM | CLONE_DETACHED)

long
sys_clone(const unsigned long *arg)
{
	switch (arg[0] & ~(unsigned long)OF_EITHER) {
	case OF_THREAD:
		return new_thread(arg);
	case SIGCHLD:
	case SIGCHLD | CLONE_VFORK:
	case SIGCHLD | CLONE_VFORK | CLONE_VM:
		return new_process(arg);
	default:
		return -EINVAL;
	}
}
