/*
 * hart_ticks: how many samples of each mode a hart has had.
 *
 * A synthetic sample may be of any hart, so two harts may count for one: the
 * counters are atomics.
 */
#include <errno.h>
#include <string.h>
#include <sys/hart_ticks.h>

#include "base/syscall.h"
#include "dev/sample.h"
#include "lab.h"
#include "mm/uaccess.h"
#include "sched/hart.h"

#define MODES 4

static uint64_t counts[HART_MAX][MODES];

/* Where a mode is in the result. */
static const int place[MODES] = {
    [SAMPLE_USER] = LAB_AT_USER,
    [SAMPLE_KERNEL] = LAB_AT_KERNEL,
    [SAMPLE_KERNELI] = LAB_AT_INTR,
    [SAMPLE_IDLE] = LAB_AT_IDLE,
};

static void
ticks_count(const struct sample *s)
{
	__atomic_add_fetch(&counts[s->hart][place[s->mode]], 1,
			   __ATOMIC_RELAXED);
}

struct profiler ticks_profiler = {.armed = 1, .count = ticks_count};

/* Can this be written to? A call that fails must not have reset anything. */
static bool
can_write(uintptr_t to)
{
	static const struct hart_ticks nothing;

	return copy_out(to, &nothing, sizeof(nothing)) == 0;
}

long
sys_hart_ticks(const unsigned long *arg)
{
	unsigned long hart = arg[LAB_HART];
	struct hart_ticks t;

	if (!LAB_EINVAL_FIRST && !can_write(arg[LAB_TO]))
		return -EFAULT;
	if (hart >= nharts)
		return -EINVAL;
	if (!can_write(arg[LAB_TO]))
		return -EFAULT;
	memset(&t, 0, sizeof(t));
	t.hart = hart;
	for (int i = 0; i < MODES; i++)
		t.mode[i] = LAB_RESETS
				? __atomic_exchange_n(&counts[hart][i], 0,
						      __ATOMIC_RELAXED)
				: __atomic_load_n(&counts[hart][i],
						  __ATOMIC_RELAXED);
	return copy_out(arg[LAB_TO], &t, sizeof(t));
}
