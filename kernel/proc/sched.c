/*
 * Threads and who runs where.
 *
 * Threads that may run wait on one queue, from which every hart takes the
 * first. A hart with nothing to do runs its idle thread, which isn't on it.
 *
 * Each thread has a clock that goes while it runs, ran. The queue is in the
 * order of these clocks: who has had the least time is next. A thread runs on
 * until a tick finds that one that waits has had a TURN less, or one is woken
 * that has had less at all. So all that compute get the same; and one that
 * mostly sleeps is behind them when it's woken, and runs at once, unless it has
 * had its share lately.
 *
 * The clocks of those that wait stay together, within SPAN of the floor, which
 * is where the first of them is: who has slept for long isn't owed all that
 * time, and who had a hart to himself doesn't owe it. A new thread begins
 * behind all that wait: so one that makes others all the time doesn't keep
 * those from their turn.
 *
 * sched_lock guards the queue and every thread's state. A thread that leaves
 * a hart takes the lock, and the one that runs there next gives it back: so who
 * has the lock and finds a thread on the queue, asleep or dead knows that its
 * stack has been left.
 */
#include <checks.h>

#include "../clock.h"
#include "../icount.h"
#include "../machine.h"
#include "../mm/mm.h"
#include "../print.h"
#include "../trap.h"
#include "proc.h"

/* In timer counts: 5 ms, so that a turn, which ends at a tick, is of 10 or 20;
 * and 20. */
#define TURN ((int64_t)(machine.timebase / 200))
#define SPAN (4 * TURN)
#define NEW  INT64_MAX /* ran of a thread that hasn't been on the queue */

struct hart harts[HART_MAX];
unsigned int nharts;

struct spinlock sched_lock = SPINLOCK5("scheduler");
static struct list runq = LIST_INIT(runq); /* of threads, least ran first */
static int64_t floor; /* the most that ran ever was of the first */

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
	t->ran = NEW;
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

static struct thread *
queued(struct list *l)
{
	return container_of(l, struct thread, run_link);
}

/* Put t on the queue, behind those that have had as much. */
static inline void
enqueue(struct thread *t)
{
	struct list *l = runq.prev;
	int64_t span = SPAN;

	if (l != &runq && queued(runq.next)->ran > floor)
		floor = queued(runq.next)->ran;
	if (t->ran - floor < -span)
		t->ran = floor - span;
	else if (t->ran - floor > span)
		t->ran = t->ran != NEW ? floor + span
			 : l != &runq  ? queued(l)->ran
				       : floor;
	while (l != &runq && queued(l)->ran > t->ran)
		l = l->prev;
	list_append(l->next, &t->run_link);
}

/* What the thread that h runs has had by now. */
static int64_t
ran_on(const struct hart *h, const struct thread *t)
{
	return t->ran + (int64_t)(rdtime() - h->since);
}

/*
 * t is on the queue: have a hart come for it. Best one that is idle, and of
 * these the one where it ran last; else one whose thread has had more than t.
 * But a thread that wakes another goes on, for mostly it is about to sleep:
 * this hart is only meant if an interrupt woke t, and then it's the best.
 */
static void
call_hart(const struct thread *t)
{
	struct hart *h;

	for (unsigned int i = 0; i < nharts; i++) {
		h = &harts[(t->hart->id + i) % nharts];
		if (!h->idling)
			continue;
		h->idling = false;
		if (h != this_hart())
			sbi_send_ipi(h->hartid);
		return;
	}
	for (unsigned int i = this_hart()->depth ? 0 : 1; i < nharts; i++) {
		h = &harts[(this_hart()->id + i) % nharts];
		if (h->running && !(h->running->work & WORK_RESCHED) &&
		    ran_on(h, h->running) > t->ran) {
			thread_notify(h->running, WORK_RESCHED);
			return;
		}
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
		call_hart(t);
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

/* The thread that this hart runs is charged for its time. */
static void
charge(struct hart *h)
{
	uint64_t now = rdtime();

	current->ran += (int64_t)(now - h->since);
	h->since = now;
}

void
sched(void)
{
	struct hart *h = this_hart();
	struct thread *next = h->idle;
	unsigned long saved = sched_lock.saved; /* this thread's own */

	assert(sched_lock.hart == h);
	check_switch();
	charge(h);
	if (current->state == THREAD_RUNNABLE && current != h->idle)
		enqueue(current);
	h->running = NULL;
	if (!list_empty(&runq)) {
		next = h->running = queued(runq.next);
		list_remove(&next->run_link);
	}
	if (next == current)
		return;
	aspace_switch(next->proc ? next->proc->as : NULL);
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

bool
thread_has_ended(struct thread *t)
{
	bool ended;

	spin_lock(&sched_lock);
	ended = t->state == THREAD_DEAD;
	spin_unlock(&sched_lock);
	return ended;
}

/* Go to the end of the queue. The idle thread isn't on it. */
void
thread_yield(void)
{
	int64_t last;

	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !list_empty(&runq)) {
		charge(this_hart());
		last = queued(runq.prev)->ran;
		if (current->ran < last)
			current->ran = last;
		sched();
	}
	spin_unlock(&sched_lock);
}

void
thread_resched(void)
{
	__atomic_and_fetch(&current->work, ~(unsigned long)WORK_RESCHED,
			   __ATOMIC_RELAXED);
	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !list_empty(&runq))
		sched();
	spin_unlock(&sched_lock);
}

/* Out of line: each tick would save registers for this. */
static __attribute__((noinline)) void
end_turn(void)
{
	spin_lock(&sched_lock);
	if (!list_empty(&runq) &&
	    ran_on(this_hart(), current) - queued(runq.next)->ran > TURN)
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

/* From the tick. Whether others wait at all is only looked at: the next tick
 * looks again. */
void
sched_tick(void)
{
	if (!list_empty(&runq) && current != this_hart()->idle)
		end_turn();
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
		icount_pass(h);
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

	if (work & WORK_RESCHED) {
		thread_resched();
		/* In an interrupt's end it waits for its turn. */
		if (!icount_turn(this_hart()))
			csr_set(sip, SIE_SOFT);
	}
	if (work & WORK_PROFIL) /* before a signal moves the user's pc */
		profil_pay();
	if (work & WORK_SIGNAL)
		signal_deliver();
}
