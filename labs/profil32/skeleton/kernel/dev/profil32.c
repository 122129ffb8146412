/*
 * profil32: a histogram of 32-bit counters in the process's own memory. See
 * README.md of the lab.
 */
#include <errno.h>
#include <sys/profil32.h>

#include "base/syscall.h"
#include "proc/proc.h"
#include "sched/thread.h"

#include "profil.h"
#include "sample.h"

/* Called with SIE=0 for each sample, on any number of harts at once. */
static void
profil32_count(const struct sample *s)
{
	(void)s; /* TODO */
}

struct profiler profil32_profiler = {.armed = 1, .count = profil32_count};

/* Called by a thread on its way to user mode, if its WORK_PROFIL was set. */
void
profil32_pay(void)
{
	/* TODO */
}

/* A fork: the child isn't running yet. */
void
profil32_fork(struct proc *child, struct proc *parent)
{
	(void)child, (void)parent; /* TODO */
}

/* An exec, or the end of p. */
void
profil32_off(struct proc *p)
{
	(void)p; /* TODO */
}

long
sys_profil32(const unsigned long *arg)
{
	(void)arg;
	return -ENOSYS; /* TODO */
}
