/*
 * ITIMER_VIRTUAL and ITIMER_PROF: alarms after so much processor time, as the
 * ticks count it. The first counts time in user mode, and sends SIGVTALRM; the
 * second all of the process's time, and sends SIGPROF.
 *
 * The tick comes here only for a process that has set one (task.timed).
 */
#include "cputimer.h"

#include <signal.h>

#include "sched/lock.h"
#include "sched/thread.h"

#include "proc.h"
#include "signal.h"

void
cputimer_set(int which, struct cputimer new)
{
	struct proc *p = current->proc;

	spin_lock(&p->lock);
	p->cputimer[which] = new;
	p->task.timed = p->cputimer[CPUTIMER_VIRTUAL].left != 0 ||
			p->cputimer[CPUTIMER_PROF].left != 0;
	spin_unlock(&p->lock);
}

struct cputimer
cputimer_get(int which)
{
	struct proc *p = current->proc;
	struct cputimer t;

	spin_lock(&p->lock);
	t = p->cputimer[which];
	spin_unlock(&p->lock);
	return t;
}

/* Count n ticks. Is it due? Several times are as good as one. */
static bool
due(struct cputimer *t, clock_t n)
{
	if (t->left == 0)
		return false;
	if (t->left > n) {
		t->left -= n;
		return false;
	}
	t->left = t->interval;
	return true;
}

void
cputimer_tick(bool user, clock_t n)
{
	struct proc *p = current->proc;
	bool virtual, prof;

	spin_lock(&p->lock);
	virtual = user && due(&p->cputimer[CPUTIMER_VIRTUAL], n);
	prof = due(&p->cputimer[CPUTIMER_PROF], n);
	spin_unlock(&p->lock);
	if (virtual)
		signal_send(p, SIGVTALRM);
	if (prof)
		signal_send(p, SIGPROF);
}
