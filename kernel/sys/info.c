/* What the system tells about itself: uname, sysinfo, psinfo. */
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "../clock.h"
#include "../machine.h"
#include "../proc/proc.h"
#include "../syscall.h"

#define VERSION "0.1"

long
sys_uname(const unsigned long *arg)
{
	static const struct utsname name = {
	    .sysname = "Tally",
	    .nodename = "tally",
	    .release = VERSION,
	    .version = "SMP, Sv39, profiled",
	    .machine = "riscv64",
	};

	return copy_out(arg[0], &name, sizeof name);
}

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
	};

	if (size == 0 || size > sizeof info)
		return -EINVAL;
	for (unsigned int i = 0; i < nharts; i++) {
		info.ticks[i] = harts[i].ticks;
		info.taken[i] = harts[i].sampleclock.taken;
		info.skipped[i] = harts[i].sampleclock.skipped;
	}
	return copy_out(arg[0], &info, size);
}

/* R, S, T or Z, and where: one thread that can run says so for all. p's lock
 * is held. */
static void
describe_threads(const struct proc *p, struct psinfo *ps)
{
	ps->state = 'S';
	ps->threads = p->nthreads;
	list_each (struct thread, t, &p->threads, proc_link) {
		ps->hart = t->hart->id;
		if (t->state == THREAD_RUNNABLE) {
			ps->state = 'R';
			break;
		}
	}
	if (p->state == PROC_STOPPED)
		ps->state = 'T';
	else if (p->state == PROC_ZOMBIE)
		ps->state = 'Z';
}

/* proc_tree_lock is held. */
static void
describe(struct proc *p, struct psinfo *ps)
{
	*ps = (struct psinfo){
	    .pid = p->pid,
	    .ppid = p->parent != NULL ? p->parent->pid : 0,
	    .pgrp = p->pgrp,
	    .utime = p->utime,
	    .stime = p->stime,
	};
	spin_lock(&p->lock);
	describe_threads(p, ps);
	if (p->as != NULL) {
		ps->size = p->as->size;
		ps->resident = p->as->resident * PAGE_SIZE;
	}
	memcpy(ps->name, p->name, sizeof ps->name);
	spin_unlock(&p->lock);
}

/* The first count processes into ps; gives how many there are. */
static size_t
describe_all(struct psinfo *ps, size_t count)
{
	size_t n = 0;

	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		if (n < count)
			describe(p, &ps[n]);
		n++;
	}
	spin_unlock(&proc_tree_lock);
	return n;
}

/*
 * Those that came since room was made for all there were have an entry too, if
 * the caller has one for them: so room is made again. What is returned would
 * else promise more entries than are filled in.
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
		ps = kmalloc(count * sizeof *ps);
		if (ps == NULL)
			return -ENOMEM;
		n = describe_all(ps, count);
		if (n <= count || count == arg[1])
			break;
		kfree(ps);
	}
	r = copy_out(arg[0], ps, (n < count ? n : count) * sizeof *ps);
	kfree(ps);
	return r < 0 ? r : (long)n;
}
