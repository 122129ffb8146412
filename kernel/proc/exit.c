/*
 * The end of a process, and what its parent learns of it.
 *
 * An exiting process gives back its files and memory at once. What is left,
 * a zombie, holds its status, its times, and the stack that its last thread
 * stands on until the very end; the parent's wait frees that.
 */
#include <sys/wait.h>

#include "../clock.h"
#include "../machine.h"
#include "../syscall.h"
#include "proc.h"

#define WAIT_OPTIONS    (WNOHANG | WUNTRACED | WCONTINUED)
#define SHELL_SIGNALLED 128 /* a shell's $? is this plus the signal */

/* What a shell would say: the exit status, or 128 and the signal. */
static int
shell_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return SHELL_SIGNALLED + WTERMSIG(status);
}

/* Does p want no zombies of its children? */
static bool
spurns_children(const struct proc *p)
{
	const struct sigaction *act = &p->action[SIGCHLD];

	return act->sa_handler == SIG_IGN || act->sa_flags & SA_NOCLDWAIT;
}

/* Make p a child of init's, which hears what the one before hadn't asked for.
 * proc_tree_lock is held. */
static void
give_to_init(struct proc *p)
{
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
	struct proc *parent = p->parent;

	p->status = status;
	p->status_new = true;
	if (parent == NULL)
		return;
	if (p->state == PROC_ZOMBIE ||
	    !(parent->action[SIGCHLD].sa_flags & SA_NOCLDSTOP))
		signal_post(parent, SIGCHLD);
	wake_all(&parent->child_wait);
}

/* The level stays raised to the end of the thread, as thread_leave says. */
static void
become_zombie(struct proc *p)
{
	level_raise(LEVEL5_MASK);
	spin_lock(&proc_tree_lock);
	list_each_safe (struct proc, child, &p->children, sibling)
		give_to_init(child);
	p->state = PROC_ZOMBIE;
	proc_tell_parent(p, p->exit_status);
	/* init waits for those whose parents don't care to. */
	if (spurns_children(p->parent))
		give_to_init(p);
	spin_unlock(&proc_tree_lock);
}

/*
 * The process is to end with this status, if it wasn't to already: it takes no
 * more signals, and its other threads leave. Unless it must end, false if a
 * signal is waiting to be delivered: it would be lost.
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

/* What the last thread does. */
static void
end_process(struct proc *p)
{
	if (p == init_proc)
		machine_poweroff(shell_status(p->exit_status));
	timer_set(&p->alarm, WAIT_FOREVER, 0);
	fdtable_close(p->fds, true);
	vnode_put(p->cwd);
	p->cwd = NULL;
	aspace_free(proc_set_aspace(NULL));
	become_zombie(p);
}

/*
 * The level is raised from the thread's leaving to its end. So it never waits
 * for another turn: for that its address space would be loaded, which others
 * may be freeing, and whoever waits for its stack would wait as long.
 */
void
thread_leave(void)
{
	struct proc *p = current->proc;
	unsigned long sie = level_raise(LEVEL5_MASK);
	bool last;

	spin_lock(&p->lock);
	last = --p->nthreads == 0;
	list_remove(&current->proc_link);
	list_append(&p->gone, &current->proc_link);
	wake_all(&p->alone_wait);
	spin_unlock(&p->lock);
	if (last) {
		level_lower(sie);
		if (p->state < PROC_EXITING) /* all have left by themselves */
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

long
sys_exit(const unsigned long *arg)
{
	if (!exit_begin(STATUS_EXITED(arg[0]), false)) {
		current->tf.sepc -= ECALL_SIZE; /* and then once more */
		return WEXITSTATUS(STATUS_EXITED(arg[0])); /* no -ERESTART */
	}
	thread_leave();
}

long
sys_poweroff(const unsigned long *arg)
{
	machine_poweroff(WEXITSTATUS(STATUS_EXITED(arg[0])));
}

/* Has child news of a kind that was asked for? */
static bool
has_news(const struct proc *child, int options)
{
	int asked = child->state == PROC_STOPPED ? WUNTRACED : WCONTINUED;

	return child->state == PROC_ZOMBIE ||
	       (child->status_new && options & asked);
}

/* The first of the current process's children with news that is wanted, or
 * NULL; is there *any that may have some? proc_tree_lock is held. */
static struct proc *
find_child(pid_t pid, int options, bool *any)
{
	*any = false;
	list_each (struct proc, child, &current->proc->children, sibling) {
		if (!proc_meant(child, pid))
			continue;
		*any = true;
		if (has_news(child, options))
			return child;
	}
	return NULL;
}

/* Wait for such a child, unless the options say not to. 0 and *child, which
 * may be NULL then; -ECHILD or -ERESTART. proc_tree_lock is held. */
static int
await_child(pid_t pid, int options, struct proc **child)
{
	int interrupted = 0;
	bool any;

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

/* Free a zombie that has left the tree, once its threads have left their
 * stacks. */
static void
free_zombie(struct proc *p)
{
	for (threads_reap(p); !list_empty(&p->gone); threads_reap(p)) {
		thread_yield(); /* to one on this hart */
		clock_nap();
	}
	proc_free(p);
}

/* Is the int at a user address there to be written? Changes nothing. */
static int
probe_int(uintptr_t user)
{
	int value;
	int r = copy_in(&value, user, sizeof value);

	return r < 0 ? r : copy_out(user, &value, sizeof value);
}

/* Note a child's news as told; a zombie leaves the tree, and its times are its
 * parent's too. Gives its pid. */
static pid_t
collect(struct proc *child, int *status)
{
	struct proc *p = current->proc;

	*status = child->status;
	child->status_new = false;
	if (child->state == PROC_ZOMBIE) {
		p->child_utime += child->utime + child->child_utime;
		p->child_stime += child->stime + child->child_stime;
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
	/* Before a child is given up, for then it's too late to fail. */
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
		copy_out(user_status, &status, sizeof status);
	return r;
}
