/*
 * Floating-point registers. The kernel uses none, so a thread's stay in the
 * hart while it runs; they are saved when it leaves the hart, but only if
 * sstatus.FS says that they have changed. A thread that never uses them runs
 * with FS off and costs nothing.
 */
#include "../trap.h"

void fp_load(const struct fpstate *fp);
void fp_store(struct fpstate *fp);

static unsigned long
fs(const struct thread *t)
{
	return t->tf.sstatus & SSTATUS_FS;
}

static void
set_fs(struct thread *t, unsigned long state)
{
	t->tf.sstatus = (t->tf.sstatus & ~(unsigned long)SSTATUS_FS) | state;
}

void
fp_save(struct thread *t)
{
	unsigned long sie = level_raise(LEVEL1_MASK);

	if (fs(t) == SSTATUS_FS_DIRTY) {
		csr_set(sstatus, SSTATUS_FS);
		fp_store(&t->fp);
		set_fs(t, SSTATUS_FS_CLEAN);
	}
	level_lower(sie);
}

/* This hart's registers become t's. Level raised. */
static void
load(struct thread *t)
{
	csr_set(sstatus, SSTATUS_FS);
	fp_load(&t->fp);
}

/* From sched(). */
void
fp_switch(struct thread *prev, struct thread *next)
{
	fp_save(prev);
	if (fs(next))
		load(next);
}

void
fp_set(const struct fpstate *fp)
{
	unsigned long sie = level_raise(LEVEL1_MASK);

	current->fp = *fp;
	load(current);
	set_fs(current, SSTATUS_FS_CLEAN);
	level_lower(sie);
}

bool
fp_first_use(void)
{
	static const struct fpstate zeroes;

	if (fs(current))
		return false;
	fp_set(&zeroes);
	return true;
}
