/*
 * What happens when memory runs out.
 *
 * Memory is promised, not reserved: a page may be wanted when there is none.
 * Whoever asks for something new gets an error in time (page_spare). But one
 * that touches what it was promised long ago did nothing wrong; so the largest
 * process has to give way, by what it has and what the kernel keeps for it.
 *
 * It is killed, and the one that wants the page waits until it has ended. It
 * may itself wait for a lock that this one has. So after a while the next one
 * goes, and at last the one that wants the page itself.
 */
#include <errno.h>

#include "../clock.h"
#include "../machine.h"
#include "../print.h"
#include "proc.h"

#define PATIENCE    (machine.timebase / 2) /* half a second */
#define STACK_PAGES (KSTACK_SIZE / PAGE_SIZE)

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
		/* As in mutex_unlock: not left to the exchange. */
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

void
kept_put(struct kept *k)
{
	if (k != NULL && __atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL) == 0)
		kfree(k);
}

/* The pages that would be free without p. proc_tree_lock is held. */
static size_t
pages_of(struct proc *p)
{
	const struct kept *k = __atomic_load_n(&p->kept, __ATOMIC_ACQUIRE);
	size_t n = k ? __atomic_load_n(&k->pages, __ATOMIC_RELAXED) : 0;

	spin_lock(&p->lock);
	n += p->nthreads * STACK_PAGES;
	if (p->as != NULL)
		n += p->as->resident + p->as->ntables;
	spin_unlock(&p->lock);
	return n;
}

/* The largest process, but init, of those that haven't been chosen; NULL: there
 * is none. Is one that has been still *going? proc_tree_lock is held. */
static struct proc *
largest(uint64_t now, bool *going)
{
	struct proc *largest = NULL;
	size_t most = 0;

	*going = false;
	list_each (struct proc, p, &proc_list, all_link) {
		size_t n = pages_of(p);

		if (p->state == PROC_ZOMBIE || p == init_proc)
			continue;
		if (p->gives_way != 0) {
			*going |= now - p->gives_way < PATIENCE;
		} else if (n >= most) {
			largest = p;
			most = n;
		}
	}
	return largest;
}

/* Have a process end, unless one is about to, and let it run. false: there is
 * none. */
static bool
make_room(void)
{
	uint64_t now = rdtime();
	struct proc *p;
	bool going;

	if (page_spare(1, LEFT_BY_FAULTS))
		return true; /* another was quicker */
	spin_lock(&proc_tree_lock);
	p = largest(now, &going);
	if (p != NULL && !going) {
		kprintf("out of memory: process %d (%s) of %lu KiB is killed, "
			"as %d (%s) wants a page\n",
			p->pid, p->name, pages_of(p) * PAGE_SIZE / 1024,
			current->proc->pid, current->proc->name);
		p->gives_way = now;
		signal_post(p, SIGKILL);
	}
	spin_unlock(&proc_tree_lock);
	thread_yield(); /* to one on this hart */
	clock_nap();
	return p != NULL || going;
}

int
memory_fault(uintptr_t va, int prot)
{
	int r;

	do
		r = aspace_fault(current->proc->as, va, prot);
	while (r == -ENOMEM && !proc_is_killed() && make_room());
	return r;
}
