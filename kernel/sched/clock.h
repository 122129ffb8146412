/* The clock: the scheduler's tick and the sampling clock, on one comparator. */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HZ 100 /* scheduling ticks a second, on each hart */

struct hart;

enum sample_mode {
	SAMPLE_USER,
	SAMPLE_KERNEL,
	SAMPLE_KERNELI, /* in a handler of an interrupt */
	SAMPLE_IDLE,    /* in the idle thread, outside any handler */
};

struct ktrapframe;
struct thread;

/* What the timer has interrupted: all that a profiler is told. */
struct sample {
	unsigned long pc;
	enum sample_mode mode;
	unsigned int ipl; /* the interrupted code's level: 0, 1 or 5 */
	unsigned int hart;
	pid_t pid; /* of the interrupted process; 0: the kernel's own */
	pid_t pgrp;
	/* For call stacks. thread is NULL for a synthetic sample; kf is NULL if
	 * user mode or the exit stub was interrupted. */
	const struct thread *thread;
	const struct ktrapframe *kf;
};

/*
 * The sampler (dev/sample.c). take gets each sample, with SIE=0. If it sets
 * OWED_SAMPLES to put off what can't be done then, later is called, at level 5.
 */
struct clock_sampler {
	void (*take)(const struct sample *s);
	void (*later)(void);
};

extern struct clock_sampler clock_sampler;

void clock_init(void);
void clock_init_hart(void);
/* A timer interrupt, with SIE=0: take a sample if one is due, note in
 * hart->owed if a tick is due, and set the next deadline. */
void clock_interrupt(const struct sample *where);
/* Do the work that is owed. At level 5, with no spinlock held. */
void clock_tick(bool user);

/* The next deadline of h, any hart. */
uint64_t clock_next_due(const struct hart *h);
/* Let this hart's timer interrupt at `when', whatever its deadlines are. */
void clock_set_timer(uint64_t when);

/* Each loop that waits for another hart must call this, so that it can run. */
void clock_nap(void);

#endif
