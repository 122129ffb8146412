/*
 * Threads: several of them share a process, its memory and its files.
 *
 * A thread that ends can't free its own kernel stack, which it uses until the
 * very end (thread_leave in exit.c). It leaves struct and stack on the
 * process's list p->gone. The next thread that the process makes frees what is
 * there (threads_reap), or else the process's own end does.
 *
 * At exec, as at the end of a process (exit.c), the other threads are told:
 * interruptible waits end, and each leaves on its way to user mode
 * (signal_deliver). The one that called exec waits until it is alone.
 */
#include "threads.h"

#include "base/list.h"
#include "mm/kmalloc.h"
#include "mm/kstack.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "proc.h"
#include "signal.h"

#define TIDS (1 << 29)

/* Freeing takes locks of level 1, so it's done after p->lock is released. */
void
threads_reap(struct proc *p)
{
	struct list done = LIST_INIT(done);

	spin_lock(&p->lock);
	list_each_safe (struct thread, t, &p->gone, proc_link)
		if (thread_has_ended(t)) {
			list_remove(&t->proc_link);
			list_append(&done, &t->proc_link);
		}
	spin_unlock(&p->lock);
	list_each_safe (struct thread, t, &done, proc_link)
		thread_free(t);
}

/*
 * Once p->alone is set the others must leave, and no thread can be added. If
 * two threads call exec at once, the second one finds that it must leave.
 */
int
threads_alone(void)
{
	struct proc *p = current->proc;
	int r = 0;

	spin_lock(&p->lock);
	if (thread_must_leave()) {
		r = -ERESTART;
	} else {
		p->alone = current;
		if (p->task.nthreads > 1)
			signal_tell(p, SIGKILL);
		while (p->task.nthreads > 1)
			wait_uninterruptible(&p->alone_wait, &p->lock);
		p->alone = NULL;
		current->tid = p->pid;
	}
	spin_unlock(&p->lock);
	return r;
}

/* Numbers are used again, so two threads may have the same: <sys/pcs.h>. */
unsigned short
context_new(void)
{
	static unsigned int last; /* atomic */
	unsigned short context;

	do
		context = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	while (context == 0);
	return context;
}

/* switch.S */
extern char thread_first[];

/* The first switch to it returns to thread_first, which calls start. Without
 * locks: nobody else knows of the new thread yet. */
UNGUARDED struct thread *
thread_create(struct proc *p, void (*start)(void))
{
	struct thread *t = kzalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->kstack_top = kstack_alloc();
	if (!t->kstack_top) {
		kfree(t);
		return NULL;
	}
	t->proc = p;
	t->context = context_new();
	t->task = p ? &p->task : NULL;
	t->hart = this_hart();
	t->state = THREAD_UNINTERRUPTIBLE;
	t->share.had = TIME_NEW;
	t->ctx.ra = (unsigned long)thread_first;
	t->ctx.sp = t->kstack_top;
	t->ctx.s1 = (unsigned long)start;
	return t;
}

/* t has ended and left its stack, or has never run. */
void
thread_free(struct thread *t)
{
	kstack_free(t->kstack_top);
	kfree(t);
}

/*
 * No process has such a number, and no two threads have the same one, unless
 * one of them has seen a billion others come. C libraries keep 30 bits of it.
 */
static pid_t
next_tid(void)
{
	static unsigned int last; /* atomic */

	return PID_MAX + 1 +
	       __atomic_fetch_add(&last, 1, __ATOMIC_RELAXED) % TIDS;
}

bool
threads_exist(pid_t tid)
{
	bool found = false;

	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		spin_lock(&p->lock);
		list_each (struct thread, t, &p->threads, proc_link)
			found |= t->tid == tid;
		spin_unlock(&p->lock);
	}
	spin_unlock(&proc_tree_lock);
	return found;
}

bool
threads_add(struct proc *p, struct thread *t)
{
	bool good;

	spin_lock(&p->lock);
	good = proc_state_now(p) < PROC_EXITING && p->alone == NULL &&
	       p->task.nthreads < THREADS_MAX;
	if (good) {
		t->tid = next_tid();
		list_append(&p->threads, &t->proc_link);
		p->task.nthreads++;
	}
	spin_unlock(&p->lock);
	return good;
}

long
sys_gettid(const unsigned long *)
{
	return current->tid;
}
