/*
 * Watching threads wait. The scheduler tells a profiler of a higher room
 * (dev/waits.c) what becomes of threads that leave their harts. While nobody
 * watches, that is a test of `armed' at each place.
 *
 *	off		woken			on
 *	| asleep	| runnable		| running
 *
 * A thread that is preempted isn't woken: it is runnable from `off'.
 */
#ifndef KERNEL_WATCH_H
#define KERNEL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spinlock;
struct thread;
struct waitq;

/* A part of struct thread. Times are rdtime()s. */
struct watched {
	/* When it left its hart last, and the queue on which it sleeps. Always
	 * up to date, as a thread may sleep long before anyone watches. */
	uint64_t off;
	const struct waitq *queue;

	/* The rest is the profiler's: who woke it up, and when, under
	 * sched_lock; and up to when its time is accounted for. */
	uint64_t woken;
	pid_t by_pid, by_tid;
	unsigned short by_context;
	unsigned char by_how;
	unsigned int by_pc;
	uint64_t upto;
};

struct wait_watch {
	/* Nothing below is called while this is 0. It only says whether to
	 * look: who looks takes a lock. */
	volatile int armed;
	/* t, which slept, has been made runnable. With sched_lock. */
	void (*woken)(struct thread *t, bool signal);
	/* The current thread runs again after a sleep. At the raised level of
	 * its wait, so that it stays on its hart; without a lock. */
	void (*slept)(void);
	/* The same after it was runnable all the time, or is new; or it is
	 * about to end. With sched_lock. */
	void (*resumed)(void);
	void (*ends)(void);
	/* This hart has spun for lk since `start', and has it now. It took lk
	 * at pc, and whom it waited for had taken it at `by'. */
	void (*spun)(const struct spinlock *lk, void *pc, void *by,
		     uint64_t start);
};

extern struct wait_watch wait_watch; /* lock.c */

#endif
