/*
 * Synthetic samples: the word `sample' of /dev/profclock. While the sampling
 * clock is on hold these are the only samples. So a test knows what each
 * profiler must say, down to the last byte.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "lib/number.h"
#include "proc/proc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"

#include "sample.h"

#define LEVEL_MAX 7
#define COUNT_MAX 1000000

/* The mode that a word stands for, or -EINVAL. */
static int
sample_mode(const char *word)
{
	static const char *const names[] = {
	    [SAMPLE_USER] = "user",
	    [SAMPLE_KERNEL] = "kernel",
	    [SAMPLE_KERNELI] = "intr",
	    [SAMPLE_IDLE] = "idle",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	return -EINVAL;
}

/* The process group of process pid; 0 if there is no such process. */
static pid_t
group_of(pid_t pid)
{
	struct proc *p;
	pid_t pgrp;

	spin_lock(&proc_tree_lock);
	p = proc_find(pid);
	pgrp = p ? p->pgrp : 0;
	spin_unlock(&proc_tree_lock);
	return pgrp;
}

/* The arguments of `sample' after the mode. All are numbers. */
enum { HART, PID, LEVEL, PC, COUNT, NARGS };

/*
 * The samples are taken on the hart that runs this, whichever hart they name.
 * They have no thread: so the profilers know that they are synthetic. From one
 * to the next interrupts are on, as a large COUNT must not mask them for long.
 */
int
synthetic_samples(char **argv)
{
	const uint64_t max[NARGS] = {nharts - 1, PID_MAX, LEVEL_MAX, UINT64_MAX,
				     COUNT_MAX};
	uint64_t arg[NARGS] = {[COUNT] = 1};
	int mode = sample_mode(argv[1]);
	struct sample s;

	if (mode < 0)
		return mode;
	for (int i = 0; argv[2 + i]; i++)
		if (number_parse(argv[2 + i], max[i], &arg[i]) != 0)
			return -EINVAL;
	s = (struct sample){
	    .mode = mode,
	    .pc = arg[PC],
	    .ipl = arg[LEVEL],
	    .hart = arg[HART],
	    .pid = arg[PID],
	    .pgrp = group_of(arg[PID]),
	};
	while (arg[COUNT]--) { /* as the clock does it: with SIE=0 */
		csr_clear(sstatus, SSTATUS_SIE);
		sample(&s);
		csr_set(sstatus, SSTATUS_SIE);
	}
	level_lower(LEVEL_ALL); /* a reader may have to be woken */
	return 0;
}
