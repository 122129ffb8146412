/*
 * Floating-point registers. The kernel uses none, so a thread's stay in the
 * hart while it runs, in the kernel too. They are saved when it leaves the
 * hart, but only if they have changed. The hart itself keeps track of that, in
 * sstatus.FS; a thread's FS is the one in its trap frame:
 *
 *   off    the thread hasn't used any: its first such instruction is illegal
 *   clean  the registers are the same as in thread->fp
 *   dirty  they have been changed since
 */
#include "base/riscv.h"

#include "hart.h"
#include "level.h"
#include "thread.h"

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

/* t is current. The level is raised, as a switch would save them, too. */
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

/* Load this hart's registers from t->fp. The caller has raised the level. */
static void
load(struct thread *t)
{
	csr_set(sstatus, SSTATUS_FS);
	fp_load(&t->fp);
}

/* If next's FS is off the hart keeps prev's, which next can't read. */
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

/* They begin as zeroes, so that a thread never finds another's there. */
bool
fp_first_use(void)
{
	static const struct fpstate zeroes;

	if (fs(current))
		return false;
	fp_set(&zeroes);
	return true;
}
