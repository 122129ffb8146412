/* Sleeping: for nanosleep (syscall/time.c), sigsuspend and futexes. */
#include "sleep.h"

#include <errno.h>
#include <time.h>

#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"

#include "proc.h"

int
sleep_copy_in(uintptr_t user, uint64_t *counts)
{
	struct timespec ts;

	if (copy_in(&ts, user, sizeof(ts)) < 0)
		return -EFAULT;
	return time_counts(ts.tv_sec, ts.tv_nsec, NS_PER_SEC, counts);
}

/*
 * Nobody knows the wait queue, so only the deadline or a signal ends the wait.
 * Any spinlock would do to guard it; the process's own is in nobody's way.
 */
int
sleep_until(uint64_t deadline)
{
	struct proc *p = current->proc;
	bool ends = deadline != WAIT_FOREVER;
	struct waitq nothing = WAITQ_FOR(nothing,
					 ends ? WAITS_SLEEP : WAITS_SIGNAL, 0);
	int r = 0;

	spin_lock(&p->sleep_lock);
	while (r == 0)
		r = wait_until(&nothing, &p->sleep_lock, deadline);
	spin_unlock(&p->sleep_lock);
	return r;
}
