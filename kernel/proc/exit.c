/*
 * The end of a process, and how its parent is told.
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
 * 4. wait_for (wait.c): the parent, or init in its place, takes the status and
 *    frees what is left.
 *
 * If all threads leave by themselves, the last one does step 1, too.
 */
#include "exit.h"

#include <sys/wait.h>

#include "base/list.h"
#include "base/riscv.h"
#include "fs/fd.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/timer.h"

#include "futex.h"
#include "pending.h"
#include "proc.h"
#include "ptimer.h"
#include "signal.h"
#include "threads.h"

#define SHELL_SIGNALLED 128 /* a shell's $? is this plus the signal */

static int
shell_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return SHELL_SIGNALLED + WTERMSIG(status);
}

static struct sigaction
action_on_child(struct proc *p)
{
	struct sigaction act;

	spin_lock(&p->lock);
	act = *signal_action(p, SIGCHLD);
	spin_unlock(&p->lock);
	return act;
}

/* Has p asked that its children don't become zombies? */
static bool
auto_reaps_children(struct proc *p)
{
	struct sigaction act = action_on_child(p);

	return act.sa_handler == SIG_IGN || act.sa_flags & SA_NOCLDWAIT;
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

siginfo_t
exit_info(pid_t pid, int status)
{
	siginfo_t info = signal_info(SIGCHLD, SI_KERNEL);

	info.si_pid = pid;
	if (status == STATUS_CONTINUED) {
		info.si_code = CLD_CONTINUED;
		info.si_status = SIGCONT;
	} else if (WIFSTOPPED(status)) {
		info.si_code = CLD_STOPPED;
		info.si_status = WSTOPSIG(status);
	} else if (WIFEXITED(status)) {
		info.si_code = CLD_EXITED;
		info.si_status = WEXITSTATUS(status);
	} else {
		info.si_code = CLD_KILLED;
		info.si_status = WTERMSIG(status);
	}
	return info;
}

void
proc_tell_parent(struct proc *p, int status)
{
	siginfo_t info = exit_info(p->pid, status);
	struct proc *parent;

	must_hold(&proc_tree_lock);
	info.si_utime = p->task.utime;
	info.si_stime = p->task.stime;
	parent = p->parent;
	p->status = status;
	p->status_new = true;
	if (parent == NULL)
		return;
	if (p->state == PROC_ZOMBIE ||
	    !(action_on_child(parent).sa_flags & SA_NOCLDSTOP))
		signal_post(parent, 0, &info);
	wake_all(&parent->child_wait);
}

/*
 * Let the current process end with this status, unless it is ending already.
 * It takes no more signals from now on, and its threads, told by signal_tell,
 * leave on their way to user mode; stopped ones are woken up for that.
 *
 * If `must` is false and a signal waits to be delivered to this thread, nothing
 * is done, and false returned: the signal would be lost (see sys_exit_group).
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
		p->status_new = false; /* it has stopped, or gone on, in vain */
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
	struct vnode *program, *cwd;

	if (p == init_proc)
		sbi_poweroff(shell_status(p->exit_status));
	proc_observer()->exited(p->exit_status);
	timer_set(&p->alarm, WAIT_FOREVER, 0);
	ptimer_free_all(p);
	fdtable_close(p->fds, true);
	spin_lock(&p->lock);
	program = p->program;
	cwd = p->cwd;
	p->program = p->cwd = NULL;
	spin_unlock(&p->lock);
	vnode_put(cwd);
	vnode_put(program);
	aspace_put(proc_set_aspace(NULL));

	level_raise(LEVEL5_MASK);
	spin_lock(&proc_tree_lock);
	proc_end_vfork(p);
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
	unsigned long sie;
	bool last;

	futex_leave();
	sie = level_raise(LEVEL5_MASK);
	spin_lock(&p->lock);
	last = --p->task.nthreads == 0;
	list_remove(&current->proc_link);
	list_append(&p->gone, &current->proc_link);
	if (current->pending.first != NULL)
		pending_forget(p, &current->pending, ~0UL);
	wake_all(&p->alone_wait);
	spin_unlock(&p->lock);
	if (last) {
		level_lower(sie);
		/* All have left by themselves? */
		if (proc_state_now(p) < PROC_EXITING)
			exit_begin(p->exit_status, true);
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

/* The calling thread ends. If all do, the process's status is the first one's,
 * whose tid is the pid. */
long
sys_exit(const unsigned long *arg)
{
	struct proc *p = current->proc;

	spin_lock(&p->lock);
	if (current->tid == p->pid && proc_state_now(p) < PROC_EXITING)
		p->exit_status = STATUS_EXITED(arg[0]);
	spin_unlock(&p->lock);
	thread_leave();
}

/*
 * A signal that came before this call is delivered first. If it has a handler,
 * that may return; so the pc goes back to the ecall, for the program to execute
 * it again with the same status in a0. -ERESTART wouldn't do: after a handler
 * without SA_RESTART exit would return EINTR.
 */
long
sys_exit_group(const unsigned long *arg)
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
