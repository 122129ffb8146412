/*
 * The end of a process, and what its parent learns of it.
 *
 * A process ends in four steps:
 *
 * 1. exit_begin: one thread calls exit, or finds a signal that ends the
 *    process. The state becomes PROC_EXITING, and the exit status is fixed.
 * 2. thread_leave: every thread comes here on its way to user mode, this one
 *    at once, and leaves its kernel stack for ever.
 * 3. end_process: the last thread to leave frees files and memory, and makes
 *    the process a zombie. That has its status, its times, and the stack that
 *    its last thread uses until the very end.
 * 4. sys_waitpid: the parent, or init in its place, takes the status and frees
 *    what is left (free_zombie).
 *
 * If all threads leave by themselves, the last one does step 1, too.
 */
#include "exit.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/list.h"
#include "base/riscv.h"
#include "fs/fd.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "mm/uaccess.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/timer.h"

#include "proc.h"
#include "signal.h"
#include "threads.h"

#define WAIT_OPTIONS    (WNOHANG | WUNTRACED | WCONTINUED)
#define SHELL_SIGNALLED 128 /* a shell's $? is this plus the signal */

static int
shell_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return SHELL_SIGNALLED + WTERMSIG(status);
}

/* Has p asked that its children don't become zombies? */
static bool
auto_reaps_children(const struct proc *p)
{
	const struct sigaction *act = &p->action[SIGCHLD];

	return act->sa_handler == SIG_IGN || act->sa_flags & SA_NOCLDWAIT;
}

/* init is also told of a status that p's old parent hasn't collected. */
static void
give_to_init(struct proc *p)
{
	must_hold(&proc_tree_lock);
	list_remove(&p->sibling);
	p->parent = init_proc;
	__atomic_store_n(&p->ppid, init_proc->pid, __ATOMIC_RELAXED);
	list_append(&init_proc->children, &p->sibling);
	if (p->status_new)
		proc_tell_parent(p, p->status);
}

void
proc_tell_parent(struct proc *p, int status)
{
	struct proc *parent;

	must_hold(&proc_tree_lock);
	parent = p->parent;
	p->status = status;
	p->status_new = true;
	if (parent == NULL)
		return;
	if (p->state == PROC_ZOMBIE ||
	    !(parent->action[SIGCHLD].sa_flags & SA_NOCLDSTOP))
		signal_post(parent, SIGCHLD);
	wake_all(&parent->child_wait);
}

/*
 * Let the current process end with this status, unless it is ending already.
 * It takes no more signals from now on, and its threads, told by signal_tell,
 * leave on their way to user mode; stopped ones are woken up for that.
 *
 * If `must` is false and a signal waits to be delivered to this thread, nothing
 * is done, and false returned: the signal would be lost (see sys_exit).
 */
static bool
exit_begin(int status, bool must)
{
	struct proc *p = current->proc;
	bool begun;

	spin_lock(&proc_tree_lock);
	spin_lock(&p->lock);
	begun = must || !(current->work & WORK_SIGNAL);
	if (begun && p->state < PROC_EXITING) {
		p->state = PROC_EXITING;
		p->exit_status = status;
		signal_tell(p, SIGKILL);
		wake_all(&p->cont_wait);
	}
	spin_unlock(&p->lock);
	spin_unlock(&proc_tree_lock);
	return begun;
}

/*
 * At level 0: it may sleep. If process 1 ends, the machine is switched off. At
 * the end the level is raised, and stays so, for the reasons at thread_leave:
 * as soon as proc_tree_lock is released, the parent may free the process.
 */
static void
end_process(struct proc *p)
{
	struct vnode *program;

	if (p == init_proc)
		sbi_poweroff(shell_status(p->exit_status));
	proc_observer()->exited(p->exit_status);
	timer_set(&p->alarm, WAIT_FOREVER, 0);
	fdtable_close(p->fds, true);
	vnode_put(p->cwd);
	p->cwd = NULL;
	spin_lock(&p->lock);
	program = p->program;
	p->program = NULL;
	spin_unlock(&p->lock);
	vnode_put(program);
	aspace_free(proc_set_aspace(NULL));

	level_raise(LEVEL5_MASK);
	spin_lock(&proc_tree_lock);
	list_each_safe (struct proc, child, &p->children, sibling)
		give_to_init(child);
	p->state = PROC_ZOMBIE;
	proc_tell_parent(p, p->exit_status);
	/* The parent's wait has been woken to look again; init reaps this. */
	if (auto_reaps_children(p->parent))
		give_to_init(p);
	spin_unlock(&proc_tree_lock);
}

/*
 * The current thread ends. From the moment that it no longer counts as one of
 * its process's threads the level is raised, so it can't be preempted before
 * its end. If it could, it would be run once more later, and:
 *
 * - for that turn its address space would have to be loaded, which the last
 *   thread, or exec, may have freed by then;
 * - whoever waits for its kernel stack (threads_reap, free_zombie) would have
 *   to wait for that turn.
 *
 * Neither holds for the last thread while it does end_process: it frees the
 * address space itself, and nobody waits for its stack yet.
 */
void
thread_leave(void)
{
	struct proc *p = current->proc;
	unsigned long sie = level_raise(LEVEL5_MASK);
	bool last;

	spin_lock(&p->lock);
	last = --p->task.nthreads == 0;
	list_remove(&current->proc_link);
	list_append(&p->gone, &current->proc_link);
	wake_all(&p->alone_wait);
	spin_unlock(&p->lock);
	if (last) {
		level_lower(sie);
		/* All have left by themselves? */
		if (proc_state_now(p) < PROC_EXITING)
			exit_begin(STATUS_EXITED(0), true);
		end_process(p);
	}
	thread_exit();
}

void
proc_exit(int status)
{
	exit_begin(status, true);
	thread_leave();
}

/*
 * A signal that came before this call is delivered first. If it has a handler,
 * that may return; so the pc goes back to the ecall, for the program to execute
 * it again with the same status in a0. -ERESTART wouldn't do: after a handler
 * without SA_RESTART exit would return EINTR.
 */
long
sys_exit(const unsigned long *arg)
{
	if (!exit_begin(STATUS_EXITED(arg[0]), false)) {
		current->tf.sepc -= ECALL_SIZE;
		return WEXITSTATUS(STATUS_EXITED(arg[0]));
	}
	thread_leave();
}

long
sys_poweroff(const unsigned long *arg)
{
	sbi_poweroff(WEXITSTATUS(STATUS_EXITED(arg[0])));
}

/* Has child a status to report, of a kind that the options ask for? */
static bool
has_news(const struct proc *child, int options)
{
	int asked;

	must_hold(&proc_tree_lock);
	asked = child->state == PROC_STOPPED ? WUNTRACED : WCONTINUED;
	return child->state == PROC_ZOMBIE ||
	       (child->status_new && options & asked);
}

/* A child with news that pid means, or NULL. *any: does pid mean any child? */
static struct proc *
find_child(pid_t pid, int options, bool *any)
{
	must_hold(&proc_tree_lock);
	*any = false;
	list_each (struct proc, child, &current->proc->children, sibling) {
		if (!proc_matches(child, pid))
			continue;
		*any = true;
		if (has_news(child, options))
			return child;
	}
	return NULL;
}

/*
 * 0 and *child, which may be NULL with WNOHANG; -ECHILD; or -ERESTART: a signal
 * came. Children are looked at once more after that, so a child's end isn't
 * missed for its own SIGCHLD. proc_tree_lock is released during the wait.
 */
static int
await_child(pid_t pid, int options, struct proc **child)
{
	int interrupted = 0;
	bool any;

	must_hold(&proc_tree_lock);
	while ((*child = find_child(pid, options, &any)) == NULL) {
		if (!any)
			return -ECHILD;
		if (options & WNOHANG || interrupted != 0)
			return interrupted;
		interrupted = wait_on(&current->proc->child_wait,
				      &proc_tree_lock);
	}
	return 0;
}

/*
 * Free a zombie that has left the tree. Its last threads may still be using
 * their stacks, on other harts; they can't be preempted, so this won't be for
 * long. Under -icount QEMU may have to be made to run those harts (clock_nap).
 */
static void
free_zombie(struct proc *p)
{
	for (threads_reap(p); !list_empty(&p->gone); threads_reap(p)) {
		thread_yield(); /* to one on this hart */
		clock_nap();
	}
	proc_free(p);
}

/* Can the int at a user address be written? 0 or -EFAULT; nothing changes. */
static int
probe_int(uintptr_t user)
{
	int value;
	int r = copy_in(&value, user, sizeof(value));

	return r < 0 ? r : copy_out(user, &value, sizeof(value));
}

/*
 * A status that is taken is no longer new. A zombie leaves the tree, and its
 * times, with those of its own children, are added to the parent's.
 */
static pid_t
collect(struct proc *child, int *status)
{
	struct proc *p = current->proc;

	must_hold(&proc_tree_lock);
	*status = child->status;
	child->status_new = false;
	if (child->state == PROC_ZOMBIE) {
		p->child_utime += child->task.utime + child->child_utime;
		p->child_stime += child->task.stime + child->child_stime;
		proc_leave(child);
	}
	return child->pid;
}

long
sys_waitpid(const unsigned long *arg)
{
	pid_t pid = arg[0];
	uintptr_t user_status = arg[1];
	int options = arg[2], status;
	struct proc *child;
	bool zombie;
	long r;

	if (options & ~WAIT_OPTIONS)
		return -EINVAL;
	/* First: once a child's status is taken it's too late to fail. */
	r = user_status != 0 ? probe_int(user_status) : 0;
	if (r < 0)
		return r;
	spin_lock(&proc_tree_lock);
	r = await_child(pid, options, &child);
	if (r < 0 || child == NULL) {
		spin_unlock(&proc_tree_lock);
		return r;
	}
	zombie = child->state == PROC_ZOMBIE;
	r = collect(child, &status);
	spin_unlock(&proc_tree_lock);
	if (zombie)
		free_zombie(child);
	if (user_status != 0)
		copy_out(user_status, &status, sizeof(status));
	return r;
}
