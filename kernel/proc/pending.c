/*
 * Signals that are pending, for a process or for one of its threads: a bit for
 * each in `set', and what is known of them (siginfo_t) in a queue.
 *
 * A signal below SIGRTMIN is pending only once, however often it is sent. A
 * real-time signal is queued each time, with its value.
 *
 * Signals are sent by interrupt handlers, too, and under locks. So what holds
 * an info comes from a table here rather than from kmalloc. When the table is
 * full, a signal is only a bit, and its handler isn't told whence it came; but
 * one that was sent with a value is refused (EAGAIN). A process may have
 * QUEUE_MAX real-time signals queued, and those leave RESERVED infos to others.
 */
#include "pending.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "sched/lock.h"

#include "ptimer.h"

#define INFOS    512
#define RESERVED 128

struct queued {
	struct queued *next;
	siginfo_t info;
};

static struct spinlock infos_lock = SPINLOCK5("signal infos");
static struct queued infos[INFOS];
static struct queued *unused GUARDED_BY(infos_lock); /* that were in use */
static unsigned int touched GUARDED_BY(infos_lock);  /* of infos, ever */
static unsigned int in_use GUARDED_BY(infos_lock);

/* One that leaves so many to others; NULL: there is none. */
static struct queued *
queued_alloc(unsigned int others)
{
	struct queued *q = NULL;

	spin_lock(&infos_lock);
	if (in_use + others < INFOS) {
		in_use++;
		q = unused;
		if (q != NULL)
			unused = q->next;
		else
			q = &infos[touched++];
	}
	spin_unlock(&infos_lock);
	return q;
}

static void
queued_free(struct queued *q)
{
	spin_lock(&infos_lock);
	q->next = unused;
	unused = q;
	in_use--;
	spin_unlock(&infos_lock);
}

static bool
is_real_time(int sig)
{
	return sig >= SIGRTMIN;
}

/* Does a signal of the same timer wait? Then this one is only counted there. */
static bool
count_missed(const struct pending *in, const siginfo_t *info)
{
	if (info->si_code != SI_TIMER || !(in->set & sigmask(info->si_signo)))
		return false;
	for (struct queued *q = in->first; q != NULL; q = q->next)
		if (q->info.si_code == SI_TIMER &&
		    q->info.si_signo == info->si_signo &&
		    q->info.si_timerid == info->si_timerid) {
			q->info.si_overrun += 1 + info->si_overrun;
			return true;
		}
	return false;
}

int
pending_add(struct proc *p, struct pending *to, const siginfo_t *info)
{
	int sig = info->si_signo;
	bool real_time = is_real_time(sig);
	struct queued **end = &to->first, *q = NULL;

	must_hold(&p->lock);
	if (count_missed(to, info) || (to->set & sigmask(sig) && !real_time))
		return 0;
	if (!real_time || p->nqueued < QUEUE_MAX)
		q = queued_alloc(real_time ? RESERVED : 0);
	if (q == NULL && real_time && info->si_code != SI_USER)
		return -EAGAIN;
	if (q != NULL) {
		q->info = *info;
		q->next = NULL;
		while (*end != NULL)
			end = &(*end)->next;
		*end = q;
		p->nqueued += real_time;
	}
	__atomic_or_fetch(&to->set, sigmask(sig), __ATOMIC_RELAXED);
	return 0;
}

/* The link that leads to the first one with that number, or to the end. */
static struct queued **
find(struct queued **link, int sig)
{
	while (*link != NULL && (*link)->info.si_signo != sig)
		link = &(*link)->next;
	return link;
}

static void
drop(struct proc *p, struct queued **link)
{
	struct queued *q = *link;

	p->nqueued -= is_real_time(q->info.si_signo);
	*link = q->next;
	queued_free(q);
}

void
pending_take(struct proc *p, struct pending *from, int sig, siginfo_t *info)
{
	struct queued **link = find(&from->first, sig);

	must_hold(&p->lock);
	memset(info, 0, sizeof(*info));
	info->si_signo = sig;
	if (*link != NULL) {
		*info = (*link)->info;
		if (info->si_code == SI_TIMER)
			ptimer_taken(p, info);
		drop(p, link);
		if (*find(link, sig) != NULL)
			return; /* another one is pending still */
	}
	__atomic_and_fetch(&from->set, ~sigmask(sig), __ATOMIC_RELAXED);
}

void
pending_forget(struct proc *p, struct pending *from, sigset_t set)
{
	struct queued **link = &from->first;

	must_hold(&p->lock);
	__atomic_and_fetch(&from->set, ~set, __ATOMIC_RELAXED);
	while (*link != NULL)
		if (set & sigmask((*link)->info.si_signo))
			drop(p, link);
		else
			link = &(*link)->next;
}
