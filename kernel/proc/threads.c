/*
 * Threads: several of them share a process, its memory and its files.
 *
 * One that ends leaves its struct and kernel stack behind, on the process's
 * list of those that are gone: it stands on that stack until the very end. The
 * next thread_create frees what has been left, or the process's own end.
 *
 * When a process ends, or execs, its other threads are told: each leaves on
 * its way to user mode (signal_deliver); no wait that a signal could end keeps
 * it. Who is last does what is to be done for the process.
 *
 * Futexes: a thread sleeps on a word of its process's memory until another
 * wakes who sleeps there. The kernel keeps nothing for a word on which nobody
 * sleeps; what it means is up to the library.
 */
#include <limits.h>

#include "../clock.h"
#include "../machine.h"
#include "../syscall.h"
#include "../trap.h"
#include "proc.h"

/* --- Coming and going --- */

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
		if (p->nthreads > 1)
			signal_tell(p, SIGKILL);
		while (p->nthreads > 1)
			wait_uninterruptible(&p->alone_wait, &p->lock);
		p->alone = NULL;
	}
	spin_unlock(&p->lock);
	return r;
}

bool
threads_add(struct proc *p, struct thread *t)
{
	bool good;

	spin_lock(&p->lock);
	good = p->state < PROC_EXITING && p->alone == NULL &&
	       p->nthreads < THREADS_MAX;
	if (good) {
		t->tid = PID_MAX + ++p->tids;
		list_append(&p->threads, &t->proc_link);
		p->nthreads++;
	}
	spin_unlock(&p->lock);
	return good;
}

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

/*
 * One who sleeps on a word. It is on that thread's stack; under the process's
 * sleep_lock from being listed to being woken.
 */
struct sleeper {
	struct list link;
	uintptr_t word;
	struct waitq wait;
	bool woken;
};

/*
 * On the list first, then the look at the word: a waker changes the word, then
 * looks at the list, so one of them sees the other.
 */
long
sys_futex_wait(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct sleeper s = {.word = arg[0], .wait = WAITQ_INIT(s.wait)};
	uint64_t deadline = WAIT_FOREVER;
	uint32_t value;
	int r = arg[2] != 0 ? time_copy_in(arg[2], &deadline) : 0;

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
 * The thread no longer stands on its user stack: whoever joins it may free
 * that, as the word (if there is one) tells by being 1.
 */
long
sys_thread_exit(const unsigned long *arg)
{
	const uint32_t one = 1;

	if (arg[0] != 0 && copy_out(arg[0], &one, sizeof(one)) == 0)
		futex_wake(arg[0], INT_MAX);
	thread_leave();
}
