/*
 * The scheduler: which thread runs next, and on which hart.
 *
 * Time is shared out among processes first, then among the threads of each. So
 * a process with hundreds of threads gets no more than one with a single one.
 * There is one run queue of processes, for all harts, and in each process one
 * of threads. A thread is on a queue while it is runnable but doesn't run, and
 * a process while any of its threads is. A hart takes the first thread of the
 * most urgent process, or else runs its idle thread, which is on no queue.
 *
 * How urgent a process is that waits is its level: that of its priority, and a
 * level more for each PRIORITY_AGE ms of waiting. So it isn't stored, but found
 * out when the next thread is chosen, from the moment since which the process
 * has waited. Of several that are as urgent, the one that has waited longest is
 * next: the queue is in that order. A process that runs has the level of its
 * priority again. It gives way at once to one that is woken up and is more
 * urgent; and at a tick to any that is as urgent.
 *
 * sched_lock guards the queues and every thread's state. A thread takes it
 * before it leaves its hart, in sched, and the thread that runs there next
 * releases it. So if the lock's holder finds another thread queued, asleep or
 * dead, then no hart uses that thread's stack any more. Read sched first.
 */
#include "base/compiler.h"
#include "base/list.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"

#include "check_locks.h"
#include "hart.h"
#include "icount.h"
#include "lab.h"
#include "level.h"
#include "lock.h"
#include "priority.h"
#include "thread.h"

struct spinlock sched_lock = SPINLOCK5("scheduler");
static struct runq processes GUARDED_BY(sched_lock) = RUNQ_INIT(processes);

struct thread_calls thread_calls;

/* switch.S */
void context_switch(struct thread *prev, struct thread *next);
void sched_first(void);

static struct share *
first(const struct runq *q)
{
	return container_of(q->shares.next, struct share, link);
}

static bool
nobody(const struct runq *q)
{
	return list_empty(&q->shares);
}

static struct thread *
first_thread(const struct task *p)
{
	return container_of(first(&p->ready), struct thread, share);
}

/* The level of p's priority. */
static unsigned int
own_level(const struct task *p)
{
	return LAB_LEVEL(p->priority);
}

/* p waits: its level, by now. */
static unsigned int
level_of_waiting(const struct task *p, uint64_t now)
{
	uint64_t age = machine.timebase / 1000 * PRIORITY_AGE;
	uint64_t level = p->level + (now - p->share.since) / age;

	return level < PRIORITIES ? level : PRIORITIES - 1;
}

/* The one that is next of those that wait; somebody does. */
static struct task *
most_urgent(uint64_t now)
{
	struct task *best = container_of(first(&processes), struct task, share);

	list_each (struct task, p, &processes.shares, share.link)
		if (level_of_waiting(p, now) > level_of_waiting(best, now))
			best = p;
	return best;
}

/* p waits from now on, at `bonus' levels above its own. */
static void
join(struct task *p, unsigned int bonus)
{
	p->level = own_level(p) + bonus;
	p->share.since = rdtime();
	list_append(&processes.shares, &p->share.link);
}

/* Make t, which is runnable and not running, wait for a hart. */
static void
enqueue(struct thread *t, unsigned int bonus)
{
	struct task *p = t->task;

	must_hold(&sched_lock);
	if (nobody(&p->ready))
		join(p, bonus);
	list_append(&p->ready.shares, &t->share.link);
}

/* Take the next thread to run off its queue. NULL: there is none. */
static struct thread *
dequeue(void)
{
	struct thread *t;
	struct task *p;

	must_hold(&sched_lock);
	if (nobody(&processes))
		return NULL;
	p = most_urgent(rdtime());
	t = first_thread(p);
	list_remove(&t->share.link);
	list_remove(&p->share.link);
	if (!nobody(&p->ready))
		join(p, 0);
	return t;
}

/* A hart that is idle, and is to take a thread from the queue: first of all the
 * one where t ran last. NULL: none is idle. */
static struct hart *
idle_hart(const struct thread *t)
{
	must_hold(&sched_lock);
	for (unsigned int i = 0; i < nharts; i++) {
		struct hart *h = &harts[(t->hart->id + i) % nharts];

		if (h->idling)
			return h;
	}
	return NULL;
}

/* The thread of the least urgent process that runs, and hasn't been told to
 * give way yet. NULL: there is none. */
static struct thread *
least_urgent(void)
{
	struct thread *least = NULL;

	must_hold(&sched_lock);
	for (unsigned int i = 0; i < nharts; i++) {
		struct thread *r = harts[i].running;

		if (r && !(r->work & WORK_RESCHED) &&
		    (!least || own_level(r->task) < own_level(least->task)))
			least = r;
	}
	return least;
}

/* t has just been put on the queue: tell a hart that should take a thread from
 * there. */
static void
call_hart(const struct thread *t)
{
	struct hart *h = idle_hart(t);
	struct thread *least;

	must_hold(&sched_lock);
	if (h) {
		h->idling = false;
		if (h != this_hart())
			hart_interrupt(h);
		return;
	}
	least = least_urgent();
	if (least &&
	    level_of_waiting(t->task, rdtime()) > own_level(least->task))
		thread_notify(least, WORK_RESCHED);
}

void
thread_wake(struct thread *t, bool signal)
{
	spin_lock(&sched_lock);
	if (t->state == THREAD_SLEEPING ||
	    (t->state == THREAD_UNINTERRUPTIBLE && !signal)) {
		t->state = THREAD_RUNNABLE;
		enqueue(t, LAB_BONUS);
		call_hart(t);
	}
	spin_unlock(&sched_lock);
}

/* Called by thread_first, a new thread's first code, which has come here from
 * another one's sched: so it must release sched_lock. It starts at level 0. */
UNGUARDED void
sched_first(void)
{
	sched_lock.saved = LEVEL_ALL;
	spin_unlock(&sched_lock);
}

/* The current thread's turn ends. Its process is on the queue if other threads
 * of it wait; then it comes behind the others. */
static inline void
sched_charge(struct hart *h)
{
	struct task *p = current->task;

	must_hold(&sched_lock);
	h->since = rdtime();
	if (current != h->idle && !nobody(&p->ready)) {
		list_remove(&p->share.link);
		join(p, 0);
	}
}

/*
 * Leave the hart to the next thread. The caller holds sched_lock, and no other
 * spinlock. It has set its thread's state: if that is still THREAD_RUNNABLE the
 * thread goes on the queue, and may be the next one itself. Returns when the
 * thread runs again, perhaps on another hart, with sched_lock held again. In
 * between the lock has belonged to other threads: each returns from its own
 * call of sched and releases it. The sie to go back to is each thread's own.
 */
void
sched(void)
{
	struct hart *h = this_hart();
	struct thread *next;
	unsigned long saved = sched_lock.saved;

	must_hold(&sched_lock);
	check_switch();
	sched_charge(h);
	if (current->state == THREAD_RUNNABLE && current != h->idle)
		enqueue(current, 0);
	next = h->running = dequeue();
	if (next == current)
		return;
	if (next == NULL)
		next = h->idle;
	thread_calls.load(next);
	fp_switch(current, next);
	context_switch(current, next);
	sched_lock.saved = saved;
}

void
thread_exit(void)
{
	spin_lock(&sched_lock);
	current->state = THREAD_DEAD;
	sched();
	panic("a dead thread runs");
}

/* A thread that is THREAD_DEAD holds the lock until it has left its stack. */
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
thread_yield(void)
{
	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !nobody(&processes))
		sched();
	spin_unlock(&sched_lock);
}

/* Let the next thread run; the current one may be that itself. The bit is
 * cleared first: if it is set again meanwhile, that counts. */
void
thread_resched(void)
{
	__atomic_and_fetch(&current->work, ~(unsigned long)WORK_RESCHED,
			   __ATOMIC_RELAXED);
	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !nobody(&processes))
		sched();
	spin_unlock(&sched_lock);
}

/* The current thread has had its turn: it gives way after the tick's work, if
 * anybody waits who is as urgent. */
static SLOW_PATH void
end_turn(void)
{
	uint64_t now;

	spin_lock(&sched_lock);
	now = rdtime();
	if (!nobody(&processes) &&
	    level_of_waiting(most_urgent(now), now) >= own_level(current->task))
		__atomic_or_fetch(&current->work, WORK_RESCHED,
				  __ATOMIC_RELAXED);
	spin_unlock(&sched_lock);
}

void
tf_change_end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	current->tf_changing = false;
}

/* Whether anybody waits is looked at without the lock: mostly nobody does, and
 * if the answer is out of date, the next tick looks again. */
void
sched_tick(void)
{
	if (!nobody(&processes) && current != this_hart()->idle)
		end_turn();
}

/*
 * The idle thread's loop. A waker that has put a thread on the queue clears
 * h->idling, and sends this hart an interrupt (call_hart). Both hold
 * sched_lock, so no wake-up is lost: either the queue isn't empty here, or the
 * waker finds idling set. If idling is cleared before the hart sleeps,
 * idle_wait returns at once.
 */
void
sched_idle(void)
{
	struct hart *h = this_hart();

	for (;;) {
		spin_lock(&sched_lock);
		h->idling = nobody(&processes);
		if (!h->idling)
			sched();
		spin_unlock(&sched_lock);
		idle_wait(&h->idling, icount_idle(h));
	}
}

/*
 * The bits are set before t->hart is read. If t is moving to another hart just
 * then, either that one is read here, and interrupted, or t finds the bits on
 * its way to user mode (context_switch). On this hart t needs no interrupt, as
 * it has that way still before it.
 */
void
thread_notify(struct thread *t, unsigned long work)
{
	struct hart *h;

	__atomic_or_fetch(&t->work, work, __ATOMIC_SEQ_CST);
	h = *(struct hart *volatile *)&t->hart;
	if (__atomic_load_n(&t->state, __ATOMIC_RELAXED) == THREAD_RUNNABLE &&
	    h != this_hart())
		hart_interrupt(h);
}
