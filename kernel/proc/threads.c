/*
 * Threads: several of them share a process, its memory and its files.
 *
 * A thread that ends can't free its own kernel stack, which it uses until the
 * very end (thread_leave in exit.c). It leaves struct and stack on the
 * process's list p->gone. The next sys_thread_create of the process frees what
 * is there (threads_reap), or else the process's own end does.
 *
 * At exec, as at the end of a process (exit.c), the other threads are told:
 * interruptible waits end, and each leaves on its way to user mode
 * (signal_deliver). The one that called exec waits until it is alone.
 *
 * Futexes: a thread sleeps on a 32-bit word of its process's memory until
 * another one wakes those who sleep there. The kernel keeps nothing for a word
 * on which nobody sleeps; what its value means is up to the library, which
 * makes mutexes, say, of it and calls the kernel only when a thread must wait.
 */
#include "threads.h"

#include <errno.h>
#include <limits.h>

#include "base/list.h"
#include "base/riscv.h"
#include "mm/kmalloc.h"
#include "mm/kstack.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/entry.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "exit.h"
#include "proc.h"
#include "signal.h"
#include "sleep.h"

/* --- Coming and going --- */

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

bool
threads_add(struct proc *p, struct thread *t)
{
	bool good;

	spin_lock(&p->lock);
	good = proc_state_now(p) < PROC_EXITING && p->alone == NULL &&
	       p->task.nthreads < THREADS_MAX;
	if (good) {
		t->tid = PID_MAX + ++p->tids;
		list_append(&p->threads, &t->proc_link);
		p->task.nthreads++;
	}
	spin_unlock(&p->lock);
	return good;
}

/*
 * thread_create(pc, sp, tp, argument): the new thread starts at pc in user
 * mode, with its argument in a0. Returns its tid, or -EAGAIN.
 */
long
sys_thread_create(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct thread *t;
	pid_t tid;

	threads_reap(p);
	if (!page_spare(0, LEFT_BY_PROGRAMS))
		return -EAGAIN;
	t = thread_create(p, trap_return_user);
	if (t == NULL)
		return -EAGAIN;
	t->tf = (struct trapframe){
	    .sepc = arg[0],
	    .sp = arg[1],
	    .gp = current->tf.gp,
	    .tp = arg[2],
	    .a0 = arg[3],
	    .sstatus = current->tf.sstatus & ~SSTATUS_FS,
	};
	t->sigmask = current->sigmask;
	t->work = WORK_SIGNAL; /* the others may just have been told to stop */
	if (!threads_add(p, t)) {
		thread_free(t);
		return -EAGAIN;
	}
	proc_observer()->born(p, t);
	tid = t->tid;
	thread_wake(t, false);
	return tid;
}

long
sys_gettid(const unsigned long *)
{
	return current->tid;
}

/* --- Futexes --- */

/* On the sleeping thread's stack; under p->sleep_lock while on p->sleepers. */
struct sleeper {
	struct list link;
	uintptr_t word;
	struct waitq wait;
	bool woken;
};

/*
 * futex_wait(word, value, timeout): sleep until woken up, unless the word has
 * another value than this already. 0, -EAGAIN (another value), -ETIMEDOUT,
 * -ERESTART, -EFAULT or -EINVAL.
 *
 * No wake-up may be lost. A waker changes the word first, and then looks at the
 * list. So this thread puts itself on the list first, and then looks at the
 * word: either it sees the new value, or the waker sees it on the list. The
 * word can't be read under sleep_lock, as it may have to be faulted in; a
 * wake-up between the look and the wait is remembered in s.woken.
 */
long
sys_futex_wait(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct sleeper s = {.word = arg[0], .wait = WAITQ_INIT(s.wait)};
	uint64_t deadline = WAIT_FOREVER;
	uint32_t value;
	int r = arg[2] != 0 ? sleep_copy_in(arg[2], &deadline) : 0;

	if (r == 0 && s.word % sizeof(value) != 0)
		r = -EINVAL;
	if (r < 0)
		return r;
	spin_lock(&p->sleep_lock);
	list_append(&p->sleepers, &s.link);
	spin_unlock(&p->sleep_lock);
	r = copy_in(&value, s.word, sizeof(value));
	if (r == 0 && value != (uint32_t)arg[1])
		r = -EAGAIN;
	spin_lock(&p->sleep_lock);
	while (r == 0 && !s.woken)
		r = wait_until(&s.wait, &p->sleep_lock, deadline);
	list_remove(&s.link);
	spin_unlock(&p->sleep_lock);
	return s.woken ? 0 : r;
}

/* Wake up the first count threads that sleep on word; returns how many. */
static int
futex_wake(uintptr_t word, int count)
{
	struct proc *p = current->proc;
	int n = 0;

	spin_lock(&p->sleep_lock);
	list_each_safe (struct sleeper, s, &p->sleepers, link) {
		if (n == count)
			break;
		if (s->word != word)
			continue;
		list_remove(&s->link);
		s->woken = true;
		wake_all(&s->wait);
		n++;
	}
	spin_unlock(&p->sleep_lock);
	return n;
}

long
sys_futex_wake(const unsigned long *arg)
{
	if (arg[0] % sizeof(uint32_t) != 0)
		return -EINVAL;
	return futex_wake(arg[0], arg[1]);
}

/*
 * If the thread has named a word, that is set to 1 and those who sleep there
 * are woken up: whoever joins the thread may free its user stack then.
 */
long
sys_thread_exit(const unsigned long *arg)
{
	const uint32_t one = 1;

	if (arg[0] != 0 && copy_out(arg[0], &one, sizeof(one)) == 0)
		futex_wake(arg[0], INT_MAX);
	thread_leave();
}
