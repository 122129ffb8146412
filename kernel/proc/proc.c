/*
 * The table of processes, and the calls that ask about a process or change
 * it in small ways.
 *
 * Whoever looks for a process, or for a group of them, walks the list of all:
 * there are few. A pid isn't given out again while it names a process or a
 * group.
 */
#include "proc.h"

#include <string.h>

#include "../print.h"
#include "../syscall.h"
#include "../trap.h"

#define MODE_MASK  0777
#define INIT_UMASK 022

struct spinlock proc_tree_lock = SPINLOCK5("proc tree");
struct proc *init_proc;
struct list proc_list = LIST_INIT(proc_list);
unsigned int proc_count;

struct proc *
proc_find(pid_t pid)
{
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pid == pid)
			return p;
	return NULL;
}

bool
proc_group_exists(pid_t pgrp)
{
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pgrp == pgrp)
			return true;
	return false;
}

bool
proc_meant(const struct proc *p, pid_t pid)
{
	if (pid > 0)
		return p->pid == pid;
	if (pid == 0)
		return p->pgrp == current->proc->pgrp;
	return pid == -1 || -p->pgrp == pid;
}

/* The next one that names nothing. There is one: a process keeps two busy at
 * most, its own and its group's, and for each there is a kernel stack. */
static pid_t
next_pid(void)
{
	static pid_t last_pid;

	do {
		last_pid = last_pid % PID_MAX + 1;
	} while (proc_find(last_pid) != NULL || proc_group_exists(last_pid));
	return last_pid;
}

/* What has just ended or stopped the parent's group was meant for p, too: a
 * group of processes that fork and exit couldn't be killed else. */
int
proc_enter(struct proc *p, struct proc *parent)
{
	spin_lock(&proc_tree_lock);
	if (parent != NULL && signal_halting()) {
		spin_unlock(&proc_tree_lock);
		return -ERESTART;
	}
	proc_count++;
	p->pid = next_pid();
	list_each (struct thread, t, &p->threads, proc_link)
		t->tid = p->pid;
	list_append(&proc_list, &p->all_link);
	p->pgrp = p->pid;
	if (parent != NULL) {
		p->parent = parent;
		p->ppid = parent->pid;
		p->pgrp = parent->pgrp;
		list_append(&parent->children, &p->sibling);
	}
	spin_unlock(&proc_tree_lock);
	return 0;
}

void
proc_leave(struct proc *p)
{
	proc_count--;
	list_remove(&p->all_link);
	list_remove(&p->sibling);
}

static void
ring_alarm(void *p)
{
	signal_send(p, SIGALRM);
}

struct proc *
proc_alloc(void)
{
	struct proc *p = kzalloc(sizeof *p);
	struct fdtable *fds = kmalloc(sizeof *fds);

	if (p == NULL || fds == NULL) {
		kfree(fds);
		kfree(p);
		return NULL;
	}
	fdtable_init(fds);
	p->fds = fds;
	p->lock = (struct spinlock)SPINLOCK5("process");
	p->sleep_lock = (struct spinlock)SPINLOCK1("sleepers");
	p->profil_lock = (struct mutex)MUTEX("profil", p->profil_lock);
	list_init(&p->children);
	list_init(&p->sibling);
	list_init(&p->threads);
	list_init(&p->gone);
	list_init(&p->sleepers);
	p->share.had = TIME_NEW;
	p->ready = (struct runq)RUNQ_INIT(p->ready);
	timer_init(&p->alarm, ring_alarm, p);
	p->child_wait = (struct waitq)WAITQ_INIT(p->child_wait);
	p->cont_wait = (struct waitq)WAITQ_INIT(p->cont_wait);
	p->alone_wait = (struct waitq)WAITQ_INIT(p->alone_wait);
	return p;
}

void
proc_free(struct proc *p)
{
	list_each_safe (struct thread, t, &p->threads, proc_link)
		thread_free(t);
	profil_off(p);
	if (p->as != NULL)
		aspace_free(p->as);
	if (p->cwd != NULL)
		vnode_put(p->cwd);
	kfree(p->fds);
	kept_put(p->kept);
	kfree(p);
}

struct aspace *
proc_set_aspace(struct aspace *as)
{
	struct proc *p = current->proc;
	struct aspace *old;

	spin_lock(&p->lock);
	old = p->as;
	p->as = as;
	aspace_switch(as);
	spin_unlock(&p->lock);
	return old;
}

/* Process 1's first steps, in its own thread. */
static void
init_start(void)
{
	int r = vfs_lookup("/", &current->proc->cwd);

	if (r < 0)
		panic("process 1 has no root directory: error %d", -r);
	r = exec("/bin/init", "init", 0, 0);
	if (r < 0)
		panic("can't run /bin/init: error %d", -r);
	trap_return_user();
}

void
proc_init(void)
{
	struct thread *t;

	init_proc = proc_alloc();
	if (init_proc == NULL)
		panic("no memory for process 1");
	t = thread_create(init_proc, init_start);
	if (t == NULL)
		panic("no memory for the first thread");
	threads_add(init_proc, t);
	init_proc->umask = INIT_UMASK;
	proc_enter(init_proc, NULL);
	thread_wake(t, false);
}

/* The shortest system call: the one to measure the others by. */
long
sys_getpid(const unsigned long *)
{
	return current->proc->pid;
}

long
sys_getppid(const unsigned long *)
{
	return __atomic_load_n(&current->proc->ppid, __ATOMIC_RELAXED);
}

long
sys_getpgid(const unsigned long *arg)
{
	pid_t pid = arg[0];
	struct proc *p;
	long r;

	spin_lock(&proc_tree_lock);
	p = pid == 0 ? current->proc : proc_find(pid);
	r = p != NULL ? p->pgrp : -ESRCH;
	spin_unlock(&proc_tree_lock);
	return r;
}

/*
 * May the current process put p into group pgrp? Only itself or a child that
 * has not yet run another program, and only into a group that exists or
 * that p is to lead.
 */
static int
may_set_group(const struct proc *p, pid_t pgrp)
{
	if (p == NULL || p->state == PROC_ZOMBIE)
		return -ESRCH;
	if (p != current->proc) {
		if (p->parent != current->proc)
			return -ESRCH;
		if (p->execed)
			return -EACCES;
	}
	if (pgrp != p->pid && !proc_group_exists(pgrp))
		return -EPERM;
	return 0;
}

long
sys_setpgid(const unsigned long *arg)
{
	pid_t pid = arg[0], pgrp = arg[1];
	struct proc *p;
	int r;

	if (pgrp < 0)
		return -EINVAL;
	spin_lock(&proc_tree_lock);
	p = pid == 0 ? current->proc : proc_find(pid);
	if (pgrp == 0 && p != NULL)
		pgrp = p->pid;
	r = may_set_group(p, pgrp);
	if (r == 0)
		p->pgrp = pgrp;
	spin_unlock(&proc_tree_lock);
	return r;
}

long
sys_umask(const unsigned long *arg)
{
	struct proc *p = current->proc;
	mode_t old;

	spin_lock(&p->lock);
	old = p->umask;
	p->umask = arg[0] & MODE_MASK;
	spin_unlock(&p->lock);
	return old;
}

long
sys_brk(const unsigned long *arg)
{
	struct aspace *as = current->proc->as;
	int r;

	if (arg[0] == 0)
		return as->brk;
	r = aspace_set_brk(as, arg[0]);
	return r < 0 ? r : (long)arg[0];
}

long
sys_sched_yield(const unsigned long *)
{
	thread_yield();
	return 0;
}
