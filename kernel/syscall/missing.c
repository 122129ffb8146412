/*
 * Calls that Tally hasn't. The console says which one a program wanted, as that
 * is what somebody needs to know whose program doesn't run: once for programs
 * of one name and a call, and for so many in all that it can't be flooded.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/print.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "table.h"

#define SAID_MAX 64

/* What C libraries and others try, and do without. */
static const unsigned short tried[] = {
    258, /* riscv_hwprobe */
    281, /* execveat */
    283, /* membarrier */
    293, /* rseq */
    435, /* clone3 */
};

static struct spinlock said_lock = SPINLOCK1("missing calls");
static unsigned int nsaid GUARDED_BY(said_lock);
static struct {
	char name[NAME_LEN];
	unsigned long number;
} said[SAID_MAX] GUARDED_BY(said_lock);

/* Note it. True: it's new, and there was room. */
static bool
is_new(const char name[NAME_LEN], unsigned long number)
{
	unsigned int i = 0;

	spin_lock(&said_lock);
	while (i < nsaid &&
	       (said[i].number != number || strcmp(said[i].name, name) != 0))
		i++;
	if (i == nsaid && i < SAID_MAX) {
		strlcpy(said[i].name, name, NAME_LEN);
		said[i].number = number;
		nsaid++;
	} else {
		i = SAID_MAX;
	}
	spin_unlock(&said_lock);
	return i < SAID_MAX;
}

SLOW_PATH long
missing_call(unsigned long number)
{
	struct proc *p = current->proc;
	char name[NAME_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(tried); i++)
		if (tried[i] == number)
			return -ENOSYS;
	spin_lock(&p->lock);
	memcpy(name, p->name, sizeof(name));
	spin_unlock(&p->lock);
	if (is_new(name, number))
		kprintf("process %d (%s): system call %lu is not "
			"implemented\n",
			p->pid, name, number);
	return -ENOSYS;
}
