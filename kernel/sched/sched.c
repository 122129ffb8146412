/*
 * The scheduler: which thread runs next, and on which hart.
 *
 * Time is shared out among processes first, then among the threads of each. So
 * a process with hundreds of threads gets no more than one with a single one.
 * There is one run queue of processes, for all harts, and in each process one
 * of threads. A thread is on a queue while it is runnable but doesn't run, and
 * a process while any of its threads is. A hart takes the first thread of the
 * first process, or else runs its idle thread, which is on no queue.
 *
 * Each process and each thread has a count of the time that it has run, `had`.
 * The queues are sorted by it: whoever has had the least time is next. A
 * running thread gives way when
 * - a tick finds that the first on the queue has had over a TURN less, or
 * - a thread is woken up that has had less time, and no hart is idle.
 *
 * So threads that compute get equal time, and a thread that mostly sleeps runs
 * at once when it is woken up, unless it has had its share lately.
 *
 * Time that was long ago doesn't count. A queue's floor is how much its first
 * member has had, and never goes down. Whoever joins a queue is brought near
 * the floor: one that has slept for an hour isn't owed that hour, and one that
 * had a hart to itself for an hour doesn't owe it (join). A new one joins
 * behind all that wait, so creating others all the time doesn't keep those from
 * their turn.
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
#include "level.h"
#include "lock.h"
#include "thread.h"

/* In timer counts. A TURN is 5 ms: half a tick, and a turn ends at a tick, so
 * it lasts 10 or 20 ms. A SPAN is how far from the floor one may join. */
#define TURN ((int64_t)(machine.timebase / 200))
#define SPAN (4 * TURN)

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

static struct task *
first_task(void)
{
	return container_of(first(&processes), struct task, share);
}

static struct thread *
first_thread(const struct task *p)
{
	return container_of(first(&p->ready), struct thread, share);
}

/* Put s on q, behind those that have had as much. */
static inline void
insert(struct runq *q, struct share *s)
{
	struct list *l = q->shares.prev;

	while (l != &q->shares &&
	       container_of(l, struct share, link)->had > s->had)
		l = l->prev;
	list_append(l->next, &s->link);
}

/* s joins q and is new, or has had more than a SPAN above the floor. */
static inline void
forgive(const struct runq *q, struct share *s, unsigned int threads)
{
	int64_t most = q->floor + threads * SPAN;

	if (s->had == TIME_NEW)
		s->had = nobody(q) ? q->floor : last(q)->had;
	else if (s->had > most)
		s->had = most;
}

/* Put s on q, with a `had` at most a SPAN below the floor, and `threads' SPANs
 * above: a process may have run on as many harts as it has threads. */
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

/* Make t, which is runnable and not running, wait for a hart. */
static void
enqueue(struct thread *t)
{
	struct task *p = t->task;

	must_hold(&sched_lock);
	if (nobody(&p->ready))
		join(&processes, &p->share, p->nthreads);
	if (p->nthreads > 1) {
		join(&p->ready, &t->share, 1);
	} else { /* it has all of its process's time, and needs no sorting */
		t->share.had = p->ready.floor;
		list_append(&p->ready.shares, &t->share.link);
	}
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
	p = first_task();
	t = first_thread(p);
	list_remove(&t->share.link);
	if (nobody(&p->ready))
		list_remove(&p->share.link);
	return t;
}

/*
 * How much more time has the thread that h runs had than t, in timer counts?
 * Threads of one process are compared, else their processes. h must run a
 * thread other than its idle one.
 */
static int64_t
ahead(const struct hart *h, const struct thread *t)
{
	const struct thread *r;
	int64_t now;

	must_hold(&sched_lock);
	r = h->running;
	now = rdtime() - h->since;
	return r->task != t->task
		   ? r->task->share.had + now - t->task->share.had
		   : r->share.had + now - t->share.had;
}

/*
 * t has just been put on the queue: find a hart that should take a thread from
 * there, and tell it. An idle hart is best, first of all the one where t ran
 * last; then a hart whose thread has had more time than t, and must give way.
 * Of these this hart comes first if an interrupt has woken t up. If a thread
 * has, it isn't asked, as that thread is mostly about to sleep itself.
 */
static void
call_hart(const struct thread *t)
{
	struct hart *h;

	must_hold(&sched_lock);
	for (unsigned int i = 0; i < nharts; i++) {
		h = &harts[(t->hart->id + i) % nharts];
		if (!h->idling)
			continue;
		h->idling = false;
		if (h != this_hart())
			hart_interrupt(h);
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
	    (t->state == THREAD_UNINTERRUPTIBLE && !signal)) {
		t->state = THREAD_RUNNABLE;
		if (wait_watch.armed)
			wait_watch.woken(t, signal);
		enqueue(t);
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
	if (wait_watch.armed)
		wait_watch.resumed();
	spin_unlock(&sched_lock);
}

/* Bring `had` of the current thread and its process up to date. The process is
 * on the queue if other threads of it wait; then its place changes. */
static inline void
sched_charge(struct hart *h)
{
	struct task *p = current->task;
	uint64_t now = rdtime();
	int64_t more;

	must_hold(&sched_lock);
	more = now - h->since;
	h->since = h->on = current->watched.off = now;
	if (current == h->idle)
		return;
	current->share.had += more;
	p->share.had += more;
	if (!nobody(&p->ready)) {
		list_remove(&p->share.link);
		insert(&processes, &p->share);
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
		enqueue(current);
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
	if (wait_watch.armed)
		wait_watch.ends();
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

/* Raise what s has had to that of the last on q, so that it comes behind. */
static void
catch_up(const struct runq *q, struct share *s)
{
	if (!nobody(q) && s->had < last(q)->had)
		s->had = last(q)->had;
}

void
thread_yield(void)
{
	struct task *p = current->task;

	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !nobody(&processes)) {
		catch_up(&p->ready, &current->share);
		catch_up(&processes, &p->share);
		sched();
		if (wait_watch.armed)
			wait_watch.resumed();
	}
	spin_unlock(&sched_lock);
}

/* Let the next thread run: by its `had`, the current one may be that itself.
 * The bit is cleared first: if it is set again meanwhile, that counts. */
void
thread_resched(void)
{
	__atomic_and_fetch(&current->work, ~(unsigned long)WORK_RESCHED,
			   __ATOMIC_RELAXED);
	spin_lock(&sched_lock);
	if (current != this_hart()->idle && !nobody(&processes)) {
		sched();
		if (wait_watch.armed)
			wait_watch.resumed();
	}
	spin_unlock(&sched_lock);
}

/* Has the current thread had its turn? Then it gives way after the tick's work.
 * A process that runs all the time doesn't join, so it's limited here. */
static SLOW_PATH void
end_turn(void)
{
	struct task *p = current->task;

	spin_lock(&sched_lock);
	if (p->share.had < processes.floor - SPAN)
		p->share.had = processes.floor - SPAN;
	if (!nobody(&processes) &&
	    ahead(this_hart(), first_thread(first_task())) > TURN)
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
