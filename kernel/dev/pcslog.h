/*
 * The log of pcs turns samples into records, and keeps them in buffers until a
 * program reads them.
 *
 * The sampler calls log_count, with SIE=0 (pcslog.c). pcs.c and pcstat.c call
 * what opens and controls the log (pcsrequest.c) and what reads it
 * (pcsreader.c), at level 0. These functions take a mutex; only log_full takes
 * no lock.
 */
#ifndef KERNEL_PCSLOG_H
#define KERNEL_PCSLOG_H

#include <stdbool.h>
#include <stddef.h>

#define _KERNEL
#include <sys/pcs.h>

struct sample;
struct thread;
struct uio;

extern struct profiler pcs_profiler; /* pcs.c */

void log_count(const struct sample *s); /* its count: see sample.h */
/*
 * In stack.c: make the STACK record of a sample. *record must have room for
 * STACK_MAX addresses. Returns the size of the record in bytes, or 0 for a
 * synthetic sample, which has no call stack. Called with SIE=0.
 */
size_t log_stack(const struct sample *s, struct STKSAMPLE *record);
/*
 * The same of a thread of a process that doesn't run user code: the current
 * one, or one that is kept off all harts by sched_lock. fp is the frame pointer
 * of the innermost function, whose callers are wanted. At any level.
 */
void log_path(const struct thread *t, unsigned long fp,
	      struct STKSAMPLE *record);

void log_init(void); /* at boot, when the harts are known */
/* Start a new account, with DEF_BUFNO buffers a hart; false: already open. */
bool log_open(pid_t owner);
/* Stop counting; discard what wasn't read. The account remains, for pcstat. */
void log_close(void);

/*
 * Add a kind of profiling. cmd is one of the PROF_ requests. group must be 0
 * except for PROF_GROUP, and list must be NULL except for PROF_LIST. From the
 * first request on, every sample is counted. PROF_STACK and PROF_SEAL are
 * exceptions: they don't start counting, but say how samples are recorded.
 */
void log_ask(unsigned int cmd, pid_t group, const struct pid_list *list);
/* PROF_EVENTS: 0 or -ENOMEM. */
int log_events(bool with_times);
/*
 * PCS_END: stop counting until a log_ask that starts it. Record the
 * pending hits as far as there is room, and make the buffers that are being
 * filled readable as they are.
 */
void log_end(void);
/* BUF_INCR: add `more' buffers to each hart; false: that is too many. */
bool log_grow(unsigned long more);

bool log_full(void); /* Is there a full buffer, of a hart's or of events? */
/*
 * Copy full buffers to u, in the order in which they became full. Returns the
 * number of bytes copied, 0 if no buffer is full, or -EFAULT if nothing could
 * be copied. It doesn't sleep until a buffer becomes full.
 */
ssize_t log_read(struct uio *u);

/*
 * All that PCS_STAT and /dev/pcstat show. The numbers of one hart are of one
 * moment, so they add up (see pcslog.c). Therefore the sums of all harts add up
 * too, although the harts are read one after another.
 */
struct log_state {
	struct DEVPC devpc;
	struct pcs_stat account;
	unsigned int buffers;       /* of each hart */
	unsigned int full, filling; /* sums of all harts */
};

struct log_state log_state(void);

/*
 * pcsevent.c: the events of PROF_EVENTS, in LOGBUFs of their own. event_full,
 * event_first and event_emptied are for the log's reader, who holds its mutex;
 * what event_first gives, NULL or a LOGBUF, stays the same until that has been
 * emptied.
 */
int event_start(void);  /* 0 or -ENOMEM; starting again does nothing */
void event_stop(void);  /* and forget all */
bool event_full(void);  /* Is a LOGBUF full? */
void event_flush(void); /* That which is being filled counts as full. */
const struct LOGBUF *event_first(void);
void event_emptied(void);
uint64_t event_untold(void); /* for which there was no room */
void event_clock(void);      /* the sampling clock has been set */
void pcs_wake(void);         /* pcs.c: a buffer may have become full */

#endif
