/*
 * Threads and who runs where.
 *
 * Time is shared out among processes first, then among the threads of each: so
 * one with hundreds of threads gets no more than another. Processes that have a
 * thread to run wait on one queue, and the threads on their process's. A hart
 * takes the first thread of the first process; if there is none, it runs its
 * idle thread, which isn't on a queue.
 *
 * A process and a thread have a clock each that goes while they run, `had`. A
 * queue is in the order of these clocks: who has had the least time is next. A
 * thread runs on until a tick finds that one that waits has had a TURN less, or
 * one is woken that has had less at all. So all that compute get the same; and
 * one that mostly sleeps is behind them when it's woken, and runs at once,
 * unless it has had its share lately.
 *
 * The clocks of those that wait stay together, near the floor, which is where
 * the first of them is: who has slept for long isn't owed all that time, and
 * who had a hart to himself doesn't owe it. A new one begins behind all that
 * wait: so one that makes others all the time doesn't keep those from their
 * turn.
 *
 * sched_lock guards the queues and every thread's state. A thread that leaves
 * a hart takes the lock, and the one that runs there next gives it back: so who
 * has the lock and finds a thread on a queue, asleep or dead knows that its
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

struct hart harts[HART_MAX];
unsigned int nharts;

struct spinlock sched_lock = SPINLOCK5("scheduler");
static struct runq processes = RUNQ_INIT(processes); /* under sched_lock */

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
	t->share.had = TIME_NEW;
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

static struct share *
first(const struct runq *q)
{
	return container_of(q->shares.next, struct share, link);
}

static struct share *
last(const struct runq *q)
{
	return container_of(q->shares.prev, struct share, link);
}

static bool
nobody(const struct runq *q)
{
	return list_empty(&q->shares);
}

static struct proc *
first_process(void)
{
	return container_of(first(&processes), struct proc, share);
}

static struct thread *
first_thread(const struct proc *p)
{
	return container_of(first(&p->ready), struct thread, share);
}

/* Put s on the queue, behind those that have had as much. */
static inline void
insert(struct runq *q, struct share *s)
{
	struct list *l = q->shares.prev;

	while (l != &q->shares &&
	       container_of(l, struct share, link)->had > s->had)
		l = l->prev;
	list_append(l->next, &s->link);
}

/* s, which comes to the queue, is new, or has had much more than the first. */
static inline void
forgive(const struct runq *q, struct share *s, unsigned int threads)
{
	int64_t most = q->floor + threads * SPAN;

	if (s->had == TIME_NEW)
		s->had = nobody(q) ? q->floor : last(q)->had;
	else if (s->had > most)
		s->had = most;
}

/* Let s come to the queue, with a clock as the others': it can't be owed more
 * than a SPAN, nor owe more than one for each of its threads. */
static inline void
join(struct runq *q, struct share *s, unsigned int threads)
{
	int64_t span = SPAN;

	if (!nobody(q) && first(q)->had > q->floor)
		q->floor = first(q)->had;
	if (s->had - q->floor < -span)
		s->had = q->floor - span;
	else if (s->had - q->floor > span)
		forgive(q, s, threads);
	insert(q, s);
}

static void
enqueue(struct thread *t)
{
	struct proc *p = t->proc;

	if (nobody(&p->ready))
		join(&processes, &p->share, p->nthreads);
	if (p->nthreads > 1) {
		join(&p->ready, &t->share, 1);
	} else { /* as mostly: it has all, and needs no clock */
		t->share.had = p->ready.floor;
		list_append(&p->ready.shares, &t->share.link);
	}
}

/* The next thread to run, off its queue; NULL: there is none. */
static struct thread *
dequeue(void)
{
	struct thread *t;
	struct proc *p;

	if (nobody(&processes))
		return NULL;
	p = first_process();
	t = first_thread(p);
	list_remove(&t->share.link);
	if (nobody(&p->ready))
		list_remove(&p->share.link);
	return t;
}

/*
 * By how much has the thread that h runs had more than t? t is of another
 * process, if that counts, or of its own.
 */
static int64_t
ahead(const struct hart *h, const struct thread *t)
{
	const struct thread *r = h->running;
	int64_t now = rdtime() - h->since;

	return r->proc != t->proc
		   ? r->proc->share.had + now - t->proc->share.had
		   : r->share.had + now - t->share.had;
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
		    ahead(h, t) > 0) {
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

/* What this hart runs is charged for its time. */
static inline void
charge(struct hart *h)
{
	struct proc *p = current->proc;
	uint64_t now = rdtime();
	int64_t more = now - h->since;

	h->since = now;
	if (current == h->idle)
		return;
	current->share.had += more;
	p->share.had += more;
	if (!nobody(&p->ready)) { /* to its new place */
		list_remove(&p->share.link);
		insert(&processes, &p->share);
	}
}

void
sched(void)
{
	struct hart *h = this_hart();
	struct thread *next;
	unsigned long saved = sched_lock.saved; /* this thread's own */

	assert(sched_lock.hart == h);
	check_switch();
	charge(h);
	if (current->state == THREAD_RUNNABLE && current != h->idle)
		enqueue(current);
	next = h->running = dequeue();
	if (next == current)
		return;
	if (next == NULL)
		next = h->idle;
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

/* s has had as much as the last on the queue. */
static void
catch_up(const struct runq *q, struct share *s)
{
	if (!nobody(q) && s->had < last(q)->had)
		s->had = last(q)->had;
}

/* Go to the end of the queues. The idle thread isn't on one. */
void
thread_yield(void)
{
	struct proc *p = current->proc;

	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !nobody(&processes)) {
		catch_up(&p->ready, &current->share);
		catch_up(&processes, &p->share);
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
	if (current != this_hart()->idle && !nobody(&processes))
		sched();
	spin_unlock(&sched_lock);
}

/* Out of line: each tick would save registers for this. */
static __attribute__((noinline)) void
end_turn(void)
{
	struct proc *p = current->proc;

	spin_lock(&sched_lock);
	if (p->share.had < processes.floor - SPAN) /* as in join */
		p->share.had = processes.floor - SPAN;
	if (!nobody(&processes) &&
	    ahead(this_hart(), first_thread(first_process())) > TURN)
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
	if (!nobody(&processes) && current != this_hart()->idle)
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
		h->idling = nobody(&processes);
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
