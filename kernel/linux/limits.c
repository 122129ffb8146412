/*
 * A process's limits, as prlimit64, getrlimit and setrlimit tell of them. They
 * are the kernel's own, the same for all, and can't be changed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "fs/fd.h"
#include "mm/kstack.h"
#include "mm/uaccess.h"
#include "proc/pending.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

#define NO_LIMIT UINT64_MAX

struct limit {
	uint64_t now, most;
};

/* By Linux's RLIMIT_ numbers. */
static const uint64_t limits[] = {
    [0] = NO_LIMIT,       /* CPU */
    [1] = NO_LIMIT,       /* FSIZE */
    [2] = NO_LIMIT,       /* DATA */
    [3] = USER_STACK_MAX, /* STACK */
    [4] = 0,              /* CORE */
    [5] = NO_LIMIT,       /* RSS */
    [6] = KSTACK_MAX,     /* NPROC */
    [7] = FD_MAX,         /* NOFILE */
    [8] = NO_LIMIT,       /* MEMLOCK */
    [9] = NO_LIMIT,       /* AS */
    [10] = NO_LIMIT,      /* LOCKS */
    [11] = QUEUE_MAX,     /* SIGPENDING */
    [12] = 0,             /* MSGQUEUE */
    [13] = 0,             /* NICE */
    [14] = 0,             /* RTPRIO */
    [15] = NO_LIMIT,      /* RTTIME */
};

/* Would this change the limit? 0: no; -EPERM: yes; -EINVAL: it's none. */
static int
refuse(uint64_t limit, const struct limit *new)
{
	if (new->now > new->most)
		return -EINVAL;
	return new->now == limit &&new->most == limit ? 0 : -EPERM;
}

/* A new limit, unless its address is 0; then the old one, unless that is. */
static long
limit_call(unsigned int which, uintptr_t user_new, uintptr_t user_old)
{
	struct limit new, old;
	int r = 0;

	if (which >= ARRAY_SIZE(limits))
		return -EINVAL;
	old = (struct limit){limits[which], limits[which]};
	if (user_new != 0)
		r = copy_in(&new, user_new, sizeof(new));
	if (r == 0 && user_new != 0)
		r = refuse(limits[which], &new);
	if (r == 0 && user_old != 0)
		r = copy_out(user_old, &old, sizeof(old));
	return r;
}

/* prlimit64(pid, which, new, old): all processes have the same. */
long
sys_prlimit64(const unsigned long *arg)
{
	bool found = (pid_t)arg[0] == 0;

	if (!found) {
		spin_lock(&proc_tree_lock);
		found = proc_find(arg[0]) != NULL;
		spin_unlock(&proc_tree_lock);
	}
	return found ? limit_call(arg[1], arg[2], arg[3]) : -ESRCH;
}

long
sys_getrlimit(const unsigned long *arg)
{
	return arg[1] == 0 ? -EFAULT : limit_call(arg[0], 0, arg[1]);
}

long
sys_setrlimit(const unsigned long *arg)
{
	return arg[1] == 0 ? -EFAULT : limit_call(arg[0], arg[1], 0);
}
