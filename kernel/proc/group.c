/*
 * Groups of processes, which signals are sent to, and sessions of groups. There
 * is one terminal, the console, and it belongs to no session.
 */
#include <errno.h>

#include "base/list.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "proc.h"

bool
proc_group_exists(pid_t pgrp)
{
	must_hold(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pgrp == pgrp)
			return true;
	return false;
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

long
sys_getsid(const unsigned long *arg)
{
	pid_t pid = arg[0];
	struct proc *p;
	long r;

	spin_lock(&proc_tree_lock);
	p = pid == 0 ? current->proc : proc_find(pid);
	r = p != NULL ? p->session : -ESRCH;
	spin_unlock(&proc_tree_lock);
	return r;
}

/* A new session, and a new group in it, for a process that leads none. */
long
sys_setsid(const unsigned long *)
{
	struct proc *p = current->proc;
	long r = -EPERM;

	spin_lock(&proc_tree_lock);
	if (!proc_group_exists(p->pid)) {
		p->session = p->pgrp = p->pid;
		r = p->pid;
	}
	spin_unlock(&proc_tree_lock);
	return r;
}

/* Is there such a group in this session? */
static bool
group_in_session(pid_t pgrp, pid_t session)
{
	must_hold(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pgrp == pgrp && p->session == session)
			return true;
	return false;
}

/*
 * A process may move only itself, or a child that hasn't run another program
 * yet, and only into a group of its session that exists or that p is to lead.
 * Who leads a session stays. 0 or an errno.
 */
static int
may_set_group(const struct proc *p, pid_t pgrp)
{
	must_hold(&proc_tree_lock);
	if (p == NULL || p->state == PROC_ZOMBIE)
		return -ESRCH;
	if (p != current->proc) {
		if (p->parent != current->proc)
			return -ESRCH;
		if (p->execed)
			return -EACCES;
	}
	if (p->session != current->proc->session || p->session == p->pid)
		return -EPERM;
	if (pgrp != p->pid && !group_in_session(pgrp, p->session))
		return -EPERM;
	return 0;
}

long
sys_setpgid(const unsigned long *arg)
{
	pid_t pid = arg[0], pgrp = arg[1];
	struct proc *p;
	int r;

	if (pgrp < 0 || (pgrp == 0 && pid < 0))
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
