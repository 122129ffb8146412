/*
 * One sample of the program counter, and who gets it.
 */
#ifndef KERNEL_SAMPLE_H
#define KERNEL_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum sample_mode {
	SAMPLE_USER,
	SAMPLE_KERNEL,
	SAMPLE_KERNELI, /* in a handler of an interrupt */
	SAMPLE_IDLE,    /* in the idle thread, outside any handler */
};

struct ktrapframe;
struct thread;

struct sample {
	unsigned long pc;
	enum sample_mode mode;
	unsigned int ipl;  /* the interrupted code's level: 0, 1, 5 or 7 */
	unsigned int hart; /* logical number */
	pid_t pid;         /* of the interrupted process; 0: the kernel's own */
	pid_t pgrp;
	/* For call stacks; thread is NULL if it is none of the clock's, kf if
	 * of user mode or the exit stub. */
	const struct thread *thread;
	const struct ktrapframe *kf;
};

/*
 * A profiler: one per file of dev/, plus profil. count runs with SIE=0, on
 * any number of harts at once: it takes no lock that other code holds,
 * allocates nothing, waits for no page of user memory.
 */
struct profiler {
	volatile int armed; /* count is called only while this isn't 0 */
	void (*count)(const struct sample *s);
	void (*deferred)(void); /* what count leaves to do, by sample_defer.
				 * Level 5. NULL: nothing */
};

/* Hand s to every armed profiler: one of the clock's, or a made-up one. Any
 * hart, SIE=0. */
void sample(const struct sample *s);

/*
 * For a profiler's count, which can't wake anybody: have this hart call what is
 * deferred as soon as it is at level 0. The level is 1 at least. The clock does
 * so by sample_deferred, level 5.
 */
void sample_defer(void);
void sample_deferred(void);

/*
 * Wait until every hart that is in the sampler now has left it. It may have
 * seen what was so before; one that enters later doesn't. For a profiler that
 * turns off a part of itself.
 */
void sample_settle(void);

/*
 * Disarm p and wait until every hart has left the sampler: then nothing
 * counts, and what count used may be cleared or freed.
 */
void sample_disarm(struct profiler *p);
void sample_arm(struct profiler *p);

#endif
