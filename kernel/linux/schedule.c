/*
 * What Linux's calls about scheduling say of a system with one policy: each
 * process has an equal share, whatever it asks for, and may run on any hart.
 * What would change that is EPERM.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

#include "mm/uaccess.h"
#include "proc/proc.h"
#include "proc/threads.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"

/* Linux's policies: that of all here; the two with priorities; the last one. */
enum { OTHER, FIFO, RR, BATCH, IDLE = 5, DEADLINE };

#define PRIORITY_MAX 99

/* Is there such a thread? 0: the caller. 0, -EINVAL or -ESRCH. */
static int
check_thread(pid_t tid)
{
	if (tid < 0)
		return -EINVAL;
	return tid == 0 || threads_exist(tid) ? 0 : -ESRCH;
}

static bool
valid_policy(int policy)
{
	return policy >= OTHER && policy <= DEADLINE && policy != BATCH + 1;
}

static int
check_priority(uintptr_t user)
{
	int priority, r = copy_in(&priority, user, sizeof(priority));

	return r == 0 && priority != 0 ? -EINVAL : r;
}

/* sched_setparam(tid, const struct sched_param *) */
long
sys_sched_setparam(const unsigned long *arg)
{
	int r = arg[1] == 0 ? -EINVAL : check_priority(arg[1]);

	return r < 0 ? r : check_thread(arg[0]);
}

/* sched_setscheduler(tid, policy, const struct sched_param *) */
long
sys_sched_setscheduler(const unsigned long *arg)
{
	int policy = arg[1], r = arg[2] == 0 ? -EINVAL : 0;

	if (r == 0 && !valid_policy(policy))
		r = -EINVAL;
	if (r == 0)
		r = check_thread(arg[0]);
	if (r == 0 && policy != OTHER)
		r = -EPERM;
	return r < 0 ? r : check_priority(arg[2]);
}

long
sys_sched_getscheduler(const unsigned long *arg)
{
	return check_thread(arg[0]);
}

/* sched_getparam(tid, struct sched_param *) */
long
sys_sched_getparam(const unsigned long *arg)
{
	const int priority = 0;
	int r = arg[1] == 0 ? -EINVAL : check_thread(arg[0]);

	return r < 0 ? r : copy_out(arg[1], &priority, sizeof(priority));
}

long
sys_sched_get_priority_max(const unsigned long *arg)
{
	int policy = arg[0];

	if (!valid_policy(policy))
		return -EINVAL;
	return policy == FIFO || policy == RR ? PRIORITY_MAX : 0;
}

long
sys_sched_get_priority_min(const unsigned long *arg)
{
	int policy = arg[0];

	if (!valid_policy(policy))
		return -EINVAL;
	return policy == FIFO || policy == RR ? 1 : 0;
}

static unsigned long
all_harts(void)
{
	return (1UL << nharts) - 1;
}

/* sched_setaffinity(tid, bytes, const unsigned long *): all harts or more. */
long
sys_sched_setaffinity(const unsigned long *arg)
{
	unsigned long mask = 0;
	size_t size = arg[1] < sizeof(mask) ? arg[1] : sizeof(mask);
	int r = copy_in(&mask, arg[2], size);

	if (r == 0)
		r = check_thread(arg[0]);
	if (r < 0)
		return r;
	if ((mask & all_harts()) == 0)
		return -EINVAL;
	return (mask & all_harts()) == all_harts() ? 0 : -EPERM;
}

/* sched_getaffinity(tid, bytes, unsigned long *): gives how many are stored. */
long
sys_sched_getaffinity(const unsigned long *arg)
{
	const unsigned long mask = all_harts();
	int r;

	if ((unsigned int)arg[1] < sizeof(mask) || arg[1] % sizeof(mask) != 0)
		return -EINVAL;
	r = check_thread(arg[0]);
	if (r == 0)
		r = copy_out(arg[2], &mask, sizeof(mask));
	return r < 0 ? r : (long)sizeof(mask);
}

/* getcpu(unsigned int *hart, unsigned int *node): at this moment. */
long
sys_getcpu(const unsigned long *arg)
{
	const unsigned int hart = current->hart->id, node = 0;
	int r = 0;

	if (arg[0] != 0)
		r = copy_out(arg[0], &hart, sizeof(hart));
	if (r == 0 && arg[1] != 0)
		r = copy_out(arg[1], &node, sizeof(node));
	return r;
}

#define NICE_ZERO 20 /* as getpriority returns it */

/* Is there a process that who means, by a kind of PRIO_? There is one user. */
static int
check_who(int kind, int who)
{
	bool found = who == 0;

	if (kind < 0 || kind > 2)
		return -EINVAL;
	if (!found && kind != 2) {
		spin_lock(&proc_tree_lock);
		found = kind == 0 ? proc_find(who) != NULL
				  : proc_group_exists(who);
		spin_unlock(&proc_tree_lock);
	}
	return found ? 0 : -ESRCH;
}

/* setpriority(kind, who, nice) */
long
sys_setpriority(const unsigned long *arg)
{
	int r = check_who(arg[0], arg[1]);

	return r == 0 && (int)arg[2] != 0 ? -EPERM : r;
}

/* getpriority(kind, who) */
long
sys_getpriority(const unsigned long *arg)
{
	int r = check_who(arg[0], arg[1]);

	return r < 0 ? r : NICE_ZERO;
}
