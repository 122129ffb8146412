/*
 * Threads and who runs where.
 *
 * Threads that may run wait on one queue, first in first out, from which every
 * hart takes the next. A hart with nothing to do runs its idle thread, which
 * isn't on the queue.
 *
 * sched_lock guards the queue and every thread's state. A thread that leaves
 * a hart takes the lock, and the one that runs there next gives it back: so who
 * has the lock and finds a thread on the queue, asleep or dead knows that its
 * stack has been left.
 */
#include <checks.h>

#include "../clock.h"
#include "../machine.h"
#include "../mm/mm.h"
#include "../print.h"
#include "../trap.h"
#include "proc.h"

#define SLICE_TICKS 4 /* a thread's turn, when others wait */

struct hart harts[HART_MAX];
unsigned int nharts;

struct spinlock sched_lock = SPINLOCK5("scheduler");
static struct list runq = LIST_INIT(runq); /* of threads */

/* switch.S */
void context_switch(struct thread *prev, struct thread *next);
extern char thread_first[];
void sched_first(void);

struct thread *
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
	t->hart = this_hart();
	t->state = THREAD_SLEEPING_HARD;
	t->ctx.ra = (unsigned long)thread_first;
	t->ctx.sp = t->kstack_top;
	t->ctx.s1 = (unsigned long)start;
	return t;
}

/* t has ended, or never started. */
void
thread_free(struct thread *t)
{
	kstack_free(t->kstack_top);
	kfree(t);
}

/*
 * Put t on the queue, and have an idle hart come for it, best the one where it
 * ran last. sched_lock is held.
 */
static void
enqueue(struct thread *t)
{
	list_append(&runq, &t->run_link);
	for (unsigned int i = 0; i < nharts; i++) {
		struct hart *h = &harts[(t->hart->id + i) % nharts];

		if (!h->idling)
			continue;
		h->idling = false;
		if (h != this_hart())
			sbi_send_ipi(h->hartid);
		return;
	}
}

void
thread_wake(struct thread *t, bool signal)
{
	spin_lock(&sched_lock);
	if (t->state == THREAD_SLEEPING ||
	    (t->state == THREAD_SLEEPING_HARD && !signal)) {
		t->state = THREAD_RUNNABLE;
		enqueue(t);
	}
	spin_unlock(&sched_lock);
}

/* The first thing in a new thread's life: it starts at level 0. */
void
sched_first(void)
{
	sched_lock.saved = LEVEL_ALL;
	spin_unlock(&sched_lock);
}

void
sched(void)
{
	struct thread *next = this_hart()->idle;
	unsigned long saved = sched_lock.saved; /* this thread's own */

	assert(sched_lock.hart == this_hart());
	check_switch();
	if (!list_empty(&runq)) {
		next = container_of(runq.next, struct thread, run_link);
		list_remove(&next->run_link);
	}
	next->slice = SLICE_TICKS;
	aspace_switch(next->proc ? next->proc->as : NULL);
	fp_switch(current, next);
	context_switch(current, next);
	sched_lock.saved = saved;
}

/* Go to the end of the queue. The idle thread isn't on it. */
void
thread_yield(void)
{
	__atomic_and_fetch(&current->work, ~(unsigned long)WORK_RESCHED,
			   __ATOMIC_RELAXED);
	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !list_empty(&runq)) {
		list_append(&runq, &current->run_link);
		sched();
	}
	spin_unlock(&sched_lock);
}

void
thread_exit(void)
{
	spin_lock(&sched_lock);
	current->state = THREAD_DEAD;
	sched();
	panic("a dead thread runs");
}

bool
thread_has_ended(struct thread *t)
{
	bool ended;

	spin_lock(&sched_lock);
	ended = t->state == THREAD_DEAD;
	spin_unlock(&sched_lock);
	return ended;
}

void
tf_change_end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	current->tf_changing = false;
}

/* From the tick: the running thread has used up ticks of its turn. Whether
 * others wait is only looked at: the next tick looks again. */
void
sched_tick(unsigned int ticks)
{
	if (list_empty(&runq) || current == this_hart()->idle)
		return;
	current->slice -= ticks < current->slice ? ticks : current->slice;
	if (!current->slice)
		__atomic_or_fetch(&current->work, WORK_RESCHED,
				  __ATOMIC_RELAXED);
}

/* The idle thread's life. Who has something to do for this hart says so in
 * idling. */
void
sched_idle(void)
{
	struct hart *h = this_hart();

	for (;;) {
		spin_lock(&sched_lock);
		h->idling = list_empty(&runq);
		if (!h->idling)
			sched();
		spin_unlock(&sched_lock);
		idle_wait(&h->idling);
	}
}

void
thread_notify(struct thread *t, unsigned long work)
{
	struct hart *h;

	__atomic_or_fetch(&t->work, work, __ATOMIC_SEQ_CST);
	h = *(struct hart *volatile *)&t->hart;
	if (__atomic_load_n(&t->state, __ATOMIC_RELAXED) == THREAD_RUNNABLE &&
	    h != this_hart())
		sbi_send_ipi(h->hartid);
}

void
thread_work(void)
{
	unsigned long work = __atomic_exchange_n(&current->work, 0,
						 __ATOMIC_ACQUIRE);

	if (work & WORK_RESCHED)
		thread_yield();
	if (work & WORK_PROFIL) /* before a signal moves the user's pc */
		profil_pay();
	if (work & WORK_SIGNAL)
		signal_deliver();
}
