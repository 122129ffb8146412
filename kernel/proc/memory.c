/*
 * What happens when memory runs out: who is killed.
 *
 * Memory is promised, not reserved: a heap may grow and a fork share all pages
 * without a free page for each. Whoever asks for something new gets an error
 * while there are still some pages left (page_spare). But a process that
 * touches what it was promised did nothing wrong, and its load or store can't
 * return an error. So the largest process has to give way: the one with the
 * most pages, of its own and of what the kernel keeps for it. Process 1 is
 * never chosen.
 *
 * The process that wants the page tries again until the victim has ended. The
 * victim may be unable to end, because it waits for a lock that this thread
 * holds (a page fault may come in a copy of user memory, under a file's lock).
 * So after half a second in which it only slept the next largest is killed; and
 * at last the process that wants the page itself, when it is the largest of
 * those that are left. A victim that is runnable will end: on a busy host, or
 * among many processes, that may take longer.
 *
 * Why not always kill the one that wants the page? It may be a small one that
 * happened to be next: a shell, while another process has taken all memory.
 */
#include "memory.h"

#include <errno.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/print.h"
#include "base/riscv.h"
#include "fs/pipe.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/clock.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "proc.h"
#include "signal.h"

#define PATIENCE    (machine.timebase / 2) /* half a second */
#define STACK_PAGES (KSTACK_SIZE / PAGE_SIZE)

/* Two threads may make the first pipe at once: hence the compare-and-swap. */
struct kept *
kept_get(void)
{
	struct proc *p = current->proc;
	struct kept *k = __atomic_load_n(&p->kept, __ATOMIC_ACQUIRE), *new;

	if (k == NULL) {
		new = kzalloc(sizeof(*new));
		if (new == NULL)
			return NULL;
		new->refs = 1;
		/* A release, not asked of the exchange: see mutex_unlock. */
		__atomic_thread_fence(__ATOMIC_RELEASE);
		if (__atomic_compare_exchange_n(&p->kept, &k, new, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE))
			k = new;
		else /* another thread was first */
			kfree(new);
	}
	__atomic_fetch_add(&k->refs, 1, __ATOMIC_RELAXED);
	return k;
}

/*
 * About how many pages p has. Pages that it shares with others count in full,
 * though they wouldn't be free without p. The caller holds proc_tree_lock;
 * p->lock keeps the address space from being replaced and freed meanwhile.
 */
static size_t
pages_of(struct proc *p)
{
	const struct kept *k = __atomic_load_n(&p->kept, __ATOMIC_ACQUIRE);
	size_t n = k ? __atomic_load_n(&k->pages, __ATOMIC_RELAXED) : 0;

	must_hold(&proc_tree_lock);
	spin_lock(&p->lock);
	n += p->task.nthreads * STACK_PAGES;
	if (p->as != NULL)
		n += p->as->resident + p->as->ntables;
	spin_unlock(&p->lock);
	return n;
}

static bool
is_runnable(struct proc *p)
{
	bool runnable = false;

	must_hold(&proc_tree_lock);
	spin_lock(&p->lock);
	spin_lock(&sched_lock);
	list_each (struct thread, t, &p->threads, proc_link)
		runnable |= t->state == THREAD_RUNNABLE;
	spin_unlock(&sched_lock);
	spin_unlock(&p->lock);
	return runnable;
}

/*
 * The largest process, except init, of those that haven't been chosen yet; of
 * equally large ones the youngest. *going: has one been chosen that hasn't
 * ended yet, and was runnable less than half a second ago?
 */
static struct proc *
largest(uint64_t now, bool *going)
{
	struct proc *largest = NULL;
	size_t most = 0;

	must_hold(&proc_tree_lock);
	*going = false;
	list_each (struct proc, p, &proc_list, all_link) {
		size_t n = pages_of(p);

		if (p->state == PROC_ZOMBIE || p == init_proc)
			continue;
		if (p->gives_way != 0) {
			if (is_runnable(p))
				p->gives_way = now;
			*going |= now - p->gives_way < PATIENCE;
		} else if (n >= most) {
			largest = p;
			most = n;
		}
	}
	return largest;
}

/* Kill one, unless a victim is still ending. False: nobody is left to kill. */
static bool
memory_make_room(void)
{
	const siginfo_t killed = signal_info(SIGKILL, SI_KERNEL);
	uint64_t now = rdtime();
	struct proc *p;
	bool going;

	if (page_spare(1, LEFT_BY_FAULTS))
		return true; /* another was quicker */
	spin_lock(&proc_tree_lock);
	p = largest(now, &going);
	if (p != NULL && !going) {
		kprintf("out of memory: killed process %d (%s), which had "
			"%lu KiB, because process %d (%s) needs a page\n",
			p->pid, p->name, pages_of(p) * PAGE_SIZE / 1024,
			current->proc->pid, current->proc->name);
		p->gives_way = now;
		signal_post(p, 0, &killed);
	}
	spin_unlock(&proc_tree_lock);
	thread_yield(); /* to one on this hart */
	clock_nap();
	return p != NULL || going;
}

/* A killed process waits no longer: it ends as soon as the fault returns. */
int
memory_fault(uintptr_t va, int prot)
{
	int r;

	do
		r = aspace_fault(current->proc->as, va, prot);
	while (r == -ENOMEM && !proc_is_killed() && memory_make_room());
	return r;
}
