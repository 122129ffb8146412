/*
 * Made-up samples: the word `sample` of /dev/profclock. With real sampling
 * held, tests know what the profilers are to say, down to the last byte.
 */
#include <errno.h>
#include <string.h>

#include "dev/dev.h"
#include "proc/proc.h"
#include "sample.h"

#define LEVEL_MAX 7
#define COUNT_MAX 1000000

static int
sample_mode(const char *word)
{
	static const char *const names[] = {
	    [SAMPLE_USER] = "user",
	    [SAMPLE_KERNEL] = "kernel",
	    [SAMPLE_KERNELI] = "intr",
	    [SAMPLE_IDLE] = "idle",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	return -EINVAL;
}

/* The process group of pid; 0: there is no such process. */
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

/* The arguments of `sample` after the mode, with what each may be at most. */
enum { HART, PID, LEVEL, PC, COUNT, NARGS };

int
samples_make(char **argv)
{
	const uint64_t max[NARGS] = {nharts - 1, PID_MAX, LEVEL_MAX, UINT64_MAX,
				     COUNT_MAX};
	uint64_t arg[NARGS] = {[COUNT] = 1};
	int mode = sample_mode(argv[1]);
	struct sample s;

	if (mode < 0)
		return mode;
	for (int i = 0; argv[2 + i]; i++)
		if (ctl_number(argv[2 + i], max[i], &arg[i]) != 0)
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
