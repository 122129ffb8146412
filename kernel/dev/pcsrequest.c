/*
 * The log of pcs, requests: opening and closing, what is to be recorded and how
 * many buffers there are; and the account, which tells what became of samples.
 *
 * A request holds log_lock, which no sampler takes. Samplers learn of it by two
 * atomics, log_wish and log_buffers. The logs themselves are changed only while
 * pcs is disarmed, because no sampler is using them then.
 *
 * Read log_open, log_ask and log_close first; then `state', which adds up the
 * account of all harts.
 */
#include "pcslog.h"

#include <stddef.h>

#include "base/compiler.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"

#include "pcsshared.h"
#include "sample.h"

struct mutex log_lock = MUTEX("pcs", log_lock);
unsigned int log_buffers;
/* The next request is written into the one that log_wish doesn't point to. */
static struct wish wishes[2];
struct wish *log_wish = wishes;

/* Who has opened the device, and what has been requested since. */
static struct DEVPC devpc GUARDED_BY(log_lock);
static bool times GUARDED_BY(log_lock); /* PROF_EVENTS: with times */
/* Hits that the last close discarded. */
static uint64_t thrown GUARDED_BY(log_lock);
/* Samples that the clock has skipped since the open, while pcs was armed. */
static struct skips skips GUARDED_BY(log_lock);

/* The logs have been cleared. `thrown' stays: it is about the last close. */
bool
log_open(pid_t owner)
{
	bool free;

	mutex_lock(&log_lock);
	free = devpc.d_clock == NO_CLOCK;
	if (free) {
		devpc = (struct DEVPC){
		    .d_clock = KW11K_CLOCK,
		    .d_runpid = owner,
		};
		for (struct log *l = logs; l < logs + nharts; l++)
			l->account = (struct pcs_stat){0};
		log_hits_read = 0;
		skips = (struct skips){0};
		log_buffers = DEF_BUFNO;
	}
	mutex_unlock(&log_lock);
	return free;
}

/*
 * Add the numbers of a hart's log, all of one moment, to *s. The log isn't
 * taken, so that no sampler waits for a reader. Instead the numbers are copied
 * again if `sequence' was odd or has changed: a sampler may have changed some
 * of them during the copy. `emptied' doesn't change, as the caller holds
 * log_lock.
 */
static void
add_log(struct log_state *s, const struct log *l)
{
	struct pcs_stat *sum = &s->account, a;
	unsigned int sequence;
	unsigned long filled;
	bool filling;

	do {
		sequence = __atomic_load_n(&l->sequence, __ATOMIC_ACQUIRE);
		if (sequence & 1)
			clock_nap();
		a = l->account;
		filled = l->filled;
		filling = l->smple.flag == FILLING;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (sequence & 1 ||
		 sequence != __atomic_load_n(&l->sequence, __ATOMIC_RELAXED));
	sum->seen += a.seen;
	sum->recorded += a.recorded;
	sum->merged += a.merged;
	sum->pending += a.pending;
	sum->lost += a.lost;
	s->full += filled - l->emptied;
	s->filling += filling;
}

/* Returns the state of all logs. The caller must hold log_lock. */
static struct log_state
state(void)
{
	struct log_state s = {.buffers = log_buffers};

	must_hold(&log_lock);
	s.devpc = devpc;
	for (const struct log *l = logs; l < logs + nharts; l++)
		add_log(&s, l);
	s.account.unread = s.account.recorded + s.account.merged;
	s.account.unread -= log_hits_read;
	s.account.thrown = thrown;
	s.account.skipped = skips_count(&skips);
	s.account.untold = event_untold();
	return s;
}

/*
 * Once pcs is disarmed, the account is final and the logs may be cleared. What
 * is discarded unread counts as read, so pcstat shows none as unread.
 */
void
log_close(void)
{
	struct log_state s;

	mutex_lock(&log_lock);
	sample_disarm(&pcs_profiler);
	skips_switch(&skips, false);
	s = state();
	thrown = s.account.unread + s.account.pending;
	log_hits_read += s.account.unread;
	for (struct log *l = logs; l < logs + nharts; l++)
		log_clear(l);
	event_stop();
	times = log_wish->times = false;
	devpc = (struct DEVPC){.d_clock = NO_CLOCK};
	log_buffers = log_position = 0;
	mutex_unlock(&log_lock);
}

/*
 * Requests add up, but a new list or group replaces the one before.
 *
 * The wish that isn't in use is filled in, and then put into use. A sampler may
 * have loaded the old pointer just before. sample_settle waits until no hart
 * can have it any more; so the next request may overwrite the old wish.
 */
void
log_ask(unsigned int cmd, pid_t group, const struct pid_list *list)
{
	struct wish *next;

	mutex_lock(&log_lock);
	next = &wishes[log_wish == wishes];
	if (list)
		devpc.d_list = *list;
	if (group)
		devpc.d_group = group;
	devpc.d_flag |= cmd & PROF_MASK;
	*next = (struct wish){devpc.d_flag, times, devpc.d_group, devpc.d_list};
	__atomic_store_n(&log_wish, next, __ATOMIC_SEQ_CST);
	sample_settle(); /* nobody has the other one any more */
	if (cmd != PROF_STACK && cmd != PROF_EVENTS && cmd != PROF_SEAL) {
		skips_switch(&skips, true);
		sample_arm(&pcs_profiler);
	}
	mutex_unlock(&log_lock);
}

/* The events come first, so that no sample is of a context that wasn't told. */
int
log_events(bool with_times)
{
	int r;

	mutex_lock(&log_lock);
	r = event_start();
	if (r == 0)
		times = with_times;
	mutex_unlock(&log_lock);
	if (r == 0)
		log_ask(PROF_EVENTS, 0, NULL);
	return r;
}

/*
 * While pcs is disarmed, this function may do a sampler's work, with interrupts
 * on. log_flush needs level 1, at which the thread can't move to another hart:
 * this hart owes the reader the wake-up, and level_lower does it.
 */
void
log_end(void)
{
	unsigned long sie;

	mutex_lock(&log_lock);
	sample_disarm(&pcs_profiler);
	skips_switch(&skips, false);
	sie = level_raise(LEVEL1_MASK);
	for (struct log *l = logs; l < logs + nharts; l++)
		log_flush(l);
	level_lower(sie);
	event_flush();
	mutex_unlock(&log_lock);
}

/* Each ring has all its slots from the start, so nothing is allocated. */
bool
log_grow(unsigned long more)
{
	bool good;

	mutex_lock(&log_lock);
	good = more <= MAX_BUFS - log_buffers;
	if (good)
		__atomic_store_n(&log_buffers, log_buffers + more,
				 __ATOMIC_RELAXED);
	mutex_unlock(&log_lock);
	return good;
}

struct log_state
log_state(void)
{
	struct log_state s;

	mutex_lock(&log_lock);
	s = state();
	mutex_unlock(&log_lock);
	return s;
}
