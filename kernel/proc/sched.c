/*
 * Threads and who runs where.
 *
 * Each hart has a run queue, first in first out. A thread's state says whether
 * it may run; who changes it from sleeping to runnable, by compare-and-swap,
 * puts it on a queue, so it can't be on two.
 *
 * A thread that has just gone to sleep still stands on its stack for a few
 * instructions, and on_cpu says so. If it is woken just then it is put on the
 * queue of the hart it is leaving: only that hart can pop it from there, and
 * by then it has left (others, when they steal, pass over such a thread).
 * That is why nobody ever waits for another hart to get off a stack.
 *
 * A hart with nothing to do runs its idle thread, which isn't on any queue.
 */
#include "../clock.h"
#include "../machine.h"
#include "../mm/mm.h"
#include "../print.h"
#include "../trap.h"
#include "proc.h"

#define SLICE_TICKS 4 /* a thread's turn, when others wait */

struct hart harts[HART_MAX];
unsigned int nharts;

/* switch.S */
struct thread *context_switch(struct thread *prev, struct thread *next);
extern char thread_first[];
void sched_first(struct thread *prev);

void
sched_init_hart(struct hart *h)
{
	h->runq_lock = (struct spinlock)SPINLOCK5("run queue");
	list_init(&h->runq);
}

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
	t->slice = SLICE_TICKS;
	t->ctx.ra = (unsigned long)thread_first;
	t->ctx.sp = t->kstack_top;
	t->ctx.s1 = (unsigned long)start;
	list_init(&t->run_link);
	list_init(&t->proc_link);
	return t;
}

/* t has ended, or never started. */
void
thread_free(struct thread *t)
{
	kstack_free(t->kstack_top);
	kfree(t);
}

static void
runq_push(struct hart *h, struct thread *t)
{
	spin_lock(&h->runq_lock);
	list_append(&h->runq, &t->run_link);
	h->nrunnable++;
	spin_unlock(&h->runq_lock);
}

/* The first thread of h's queue that may run on a hart; NULL: none. */
static struct thread *
runq_pop(struct hart *h, bool steal)
{
	struct thread *t = NULL;
	struct list *l;

	spin_lock(&h->runq_lock);
	list_each (l, &h->runq) {
		t = container_of(l, struct thread, run_link);
		if (!steal || !__atomic_load_n(&t->on_cpu, __ATOMIC_ACQUIRE))
			break;
		t = NULL;
	}
	if (t) {
		list_remove(&t->run_link);
		h->nrunnable--;
	}
	spin_unlock(&h->runq_lock);
	return t;
}

/* A thread for this hart from another's queue, if that has more than spare of
 * them; NULL: none has. */
static struct thread *
steal(struct hart *self, unsigned int spare)
{
	for (unsigned int i = 1; i < nharts; i++) {
		struct hart *h = &harts[(self->id + i) % nharts];

		if (h->nrunnable > spare) {
			struct thread *t = runq_pop(h, true);

			if (t)
				return t;
		}
	}
	return NULL;
}

/* How many threads a hart has: those that wait, and the one that runs. */
static unsigned int
load(const struct hart *h)
{
	return h->idling ? 0 : h->nrunnable + 1;
}

/*
 * Where a runnable thread should wait: where it ran last, unless another hart
 * has less to do; and if it is still leaving its stack, there.
 */
static struct hart *
place(struct thread *t)
{
	struct hart *best = t->hart;

	if (__atomic_load_n(&t->on_cpu, __ATOMIC_ACQUIRE))
		return best;
	for (unsigned int i = 0; i < nharts; i++)
		if (load(&harts[i]) < load(best))
			best = &harts[i];
	return best;
}

/*
 * Put t, whose state the caller has just made runnable, on a queue, and wake
 * its hart. The level is raised from place() to the push: t can't leave a
 * stack of this hart meanwhile.
 */
static void
make_runnable(struct thread *t)
{
	unsigned long sie = level_raise(LEVEL5_MASK);
	struct hart *h = place(t);

	runq_push(h, t);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (h != this_hart() && h->idling)
		sbi_send_ipi(h->hartid);
	level_lower(sie);
}

bool
thread_wake(struct thread *t, bool signal)
{
	int state = THREAD_SLEEPING;

	if (!signal && __atomic_load_n(&t->state, __ATOMIC_RELAXED) ==
			   THREAD_SLEEPING_HARD)
		state = THREAD_SLEEPING_HARD;
	if (!__atomic_compare_exchange_n(&t->state, &state, THREAD_RUNNABLE,
					 false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return false;
	make_runnable(t);
	return true;
}

/* The first thing in a thread's new turn: who ran before has left its stack. */
static void
sched_switched(struct thread *prev)
{
	__atomic_store_n(&prev->on_cpu, 0, __ATOMIC_RELEASE);
}

/* What a new thread adds to that: it starts at level 0. */
void
sched_first(struct thread *prev)
{
	sched_switched(prev);
	level_lower(LEVEL_ALL);
}

void
sched(void)
{
	struct thread *prev = current, *next;
	struct hart *h = this_hart();

	assert(level_of(csr_read(sie)) > 0);
	next = runq_pop(h, false);
	if (!next)
		next = steal(h, 0);
	if (!next)
		next = h->idle;
	if (next == prev)
		return;
	next->slice = SLICE_TICKS;
	next->on_cpu = 1;
	aspace_switch(next->proc ? next->proc->as : NULL);
	fp_switch(prev, next);
	sched_switched(context_switch(prev, next));
}

/* Go to the end of the queue. The idle thread isn't on one. */
void
thread_yield(void)
{
	unsigned long sie = level_raise(LEVEL5_MASK);

	__atomic_and_fetch(&current->work, ~(unsigned long)WORK_RESCHED,
			   __ATOMIC_RELAXED);
	if (current != this_hart()->idle && this_hart()->nrunnable) {
		runq_push(this_hart(), current);
		sched();
	}
	level_lower(sie);
}

void
thread_exit(void)
{
	level_raise(LEVEL5_MASK);
	current->state = THREAD_DEAD;
	sched();
	panic("a dead thread runs");
}

/*
 * From the tick: a hart sees whether another has more to do than it has, by
 * two at least; and the running thread has used up ticks of its turn.
 */
void
sched_tick(unsigned int ticks)
{
	struct hart *h = this_hart();
	bool idle = current == h->idle;
	struct thread *t = steal(h, idle ? 0 : h->nrunnable + 1);

	if (t)
		runq_push(h, t);
	if (idle || !h->nrunnable)
		return;
	current->slice -= ticks < current->slice ? ticks : current->slice;
	if (!current->slice)
		__atomic_or_fetch(&current->work, WORK_RESCHED,
				  __ATOMIC_RELAXED);
}

/*
 * The idle thread's life. idling is set before the last look at the queue,
 * and a waker looks at idling after it has pushed: one of them sees the other.
 */
void
sched_idle(void)
{
	struct hart *h = this_hart();

	for (;;) {
		level_raise(LEVEL5_MASK);
		sched();
		level_lower(LEVEL_ALL);
		__atomic_store_n(&h->idling, true, __ATOMIC_SEQ_CST);
		idle_wait(&h->nrunnable);
		__atomic_store_n(&h->idling, false, __ATOMIC_RELAXED);
	}
}

void
thread_notify(struct thread *t, unsigned long work)
{
	struct hart *h;

	__atomic_or_fetch(&t->work, work, __ATOMIC_SEQ_CST);
	h = *(struct hart *volatile *)&t->hart;
	if (t != current && __atomic_load_n(&t->on_cpu, __ATOMIC_RELAXED) &&
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
