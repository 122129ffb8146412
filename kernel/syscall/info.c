/*
 * What the system says about itself: the calls uname, sysinfo and psinfo. free,
 * uname and ps show it. The Makefile takes TALLY_VERSION from the file VERSION.
 */
#include "info.h"

#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/pages.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"

/* C libraries refuse to run on a release that lacks calls which they need. */
#define LINUX_RELEASE "6.1.0"

const struct utsname info_system = {
    .sysname = "Tally",
    .nodename = "tally",
    .release = LINUX_RELEASE,
    .version = TALLY_VERSION ", SMP, Sv39, profiled",
    .machine = "riscv64",
};

long
sys_uname(const unsigned long *arg)
{
	return copy_out(arg[0], &info_system, sizeof(info_system));
}

/* Linux's. The loads are 0, as nobody averages. */
long
sys_linux_sysinfo(const unsigned long *arg)
{
	struct {
		long uptime; /* seconds */
		unsigned long loads[3];
		unsigned long total, free, shared, buffers, swap, swap_free;
		unsigned short processes;
		unsigned long high, high_free;
		unsigned int unit; /* bytes that memory is counted in */
	} info;

	memset(&info, 0, sizeof(info));
	info.uptime = rdtime() / machine.timebase;
	info.total = page_count_total();
	info.free = page_count_free();
	info.processes = proc_count;
	info.unit = PAGE_SIZE;
	return copy_out(arg[0], &info, sizeof(info));
}

/*
 * Copies only the first `size' bytes: a program that was compiled with a
 * shorter struct sysinfo gets the fields that it knows. The counts are loaded
 * without a lock, each of them whole; they need not be of the same moment.
 */
long
sys_sysinfo(const unsigned long *arg)
{
	size_t size = arg[1];
	struct sysinfo info = {
	    .page_size = PAGE_SIZE,
	    .pages_total = page_count_total(),
	    .pages_free = page_count_free(),
	    .harts = nharts,
	    .processes = proc_count,
	    .hz = HZ,
	    .timebase = machine.timebase,
	    .uptime = rdtime(),
	    .text_start = (uintptr_t)text_start,
	    .text_end = (uintptr_t)text_end,
	    .icount = bootarg_present("icount"),
	};

	if (size == 0 || size > sizeof(info))
		return -EINVAL;
	for (unsigned int i = 0; i < nharts; i++) {
		info.ticks[i] = harts[i].ticks;
		info.taken[i] = harts[i].sampleclock.taken;
		info.skipped[i] = harts[i].sampleclock.skipped;
	}
	return copy_out(arg[0], &info, size);
}

/* Without sched_lock: the thread's state may have changed anyway by the time
 * that ps shows it. */
static UNGUARDED bool
can_run(const struct thread *t)
{
	return __atomic_load_n(&t->state, __ATOMIC_RELAXED) == THREAD_RUNNABLE;
}

/*
 * Fill in the state (R, S, T or Z), the number of threads, and the hart. A
 * process is R if any of its threads can run; the hart is then that thread's.
 * The caller must hold proc_tree_lock, for p->state, and p->lock, for the list
 * of threads.
 */
static void
describe_threads(const struct proc *p, struct psinfo *ps)
{
	must_hold(&proc_tree_lock);
	must_hold(&p->lock);
	ps->state = 'S';
	ps->threads = p->task.nthreads;
	list_each (struct thread, t, &p->threads, proc_link) {
		ps->hart = t->hart->id;
		if (can_run(t)) {
			ps->state = 'R';
			break;
		}
	}
	if (p->state == PROC_STOPPED)
		ps->state = 'T';
	else if (p->state == PROC_ZOMBIE)
		ps->state = 'Z';
}

/* size and resident are read without the
 * address space's lock, a mutex, which can't be taken under a spinlock. */
void
info_describe(struct proc *p, struct psinfo *ps)
{
	must_hold(&proc_tree_lock);
	*ps = (struct psinfo){
	    .pid = p->pid,
	    .ppid = p->parent != NULL ? p->parent->pid : 0,
	    .pgrp = p->pgrp,
	    .utime = p->task.utime,
	    .stime = p->task.stime,
	};
	spin_lock(&p->lock);
	describe_threads(p, ps);
	if (p->as != NULL) {
		ps->size = p->as->size;
		ps->resident = p->as->resident * PAGE_SIZE;
	}
	memcpy(ps->name, p->name, sizeof(ps->name));
	spin_unlock(&p->lock);
}

/* Describe the first `count' processes in ps. Returns how many there are. */
static size_t
describe_all(struct psinfo *ps, size_t count)
{
	size_t n = 0;

	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		if (n < count)
			info_describe(p, &ps[n]);
		n++;
	}
	spin_unlock(&proc_tree_lock);
	return n;
}

/*
 * The entries are collected in kernel memory, as user memory can't be touched
 * under a spinlock. That memory must be allocated before the lock is taken, for
 * as many processes as there are at that moment. If there are more by the time
 * that they are described, and the user's array has room for them, this begins
 * again. Otherwise the number returned would promise entries that haven't been
 * filled in.
 */
long
sys_psinfo(const unsigned long *arg)
{
	size_t count, n;
	struct psinfo *ps;
	int r;

	if (arg[1] == 0)
		return proc_count;
	for (;;) {
		count = __atomic_load_n(&proc_count, __ATOMIC_RELAXED);
		if (count > arg[1])
			count = arg[1];
		ps = kmalloc(count * sizeof(*ps));
		if (ps == NULL)
			return -ENOMEM;
		n = describe_all(ps, count);
		if (n <= count || count == arg[1])
			break;
		kfree(ps);
	}
	r = copy_out(arg[0], ps, (n < count ? n : count) * sizeof(*ps));
	kfree(ps);
	return r < 0 ? r : (long)n;
}
