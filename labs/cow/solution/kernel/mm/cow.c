/*
 * Copy on write: a fork shares all pages, and whoever writes to one gets a copy
 * of its own.
 *
 * A shared page has a reference for each entry that leads to it, and none of
 * these entries has W, though its region may be written. So a write comes here.
 * If no other reference is left by then, W is simply set.
 *
 * Which change needs a flush of whom? An entry that gains W needs none of other
 * harts: one that remembers the old entry takes a fault, finds nothing to do,
 * and flushes its own TLB. One that loses W does, or threads on other harts
 * would go on writing to what is now the child's, too; and one that leads to
 * another page, or they would go on reading the old one.
 */
#include "cow.h"

#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "base/riscv.h"
#include "lab.h"
#include "sched/thread.h"

#include "page.h"
#include "table.h"

/* The indices of as->cow, under as->lock. */
enum { SHARED, COPIED, TAKEN, EARLY };

static const unsigned char order[COW_COUNTS] = {LAB_ORDER};

/* Is the page at va, in r, one that both sides of a fork write at once? Those
 * are from the stack pointer on, as far as its region goes. */
static bool
copied_early(const struct region *r, uintptr_t va)
{
	uintptr_t sp = page_round_down(current->tf.sp);

	return r->prot & PROT_W && r->start <= sp && sp <= va &&
	       va < sp + COW_STACK * PAGE_SIZE;
}

/*
 * Give the child the page that *from leads to: a copy if `early', or else the
 * same, and both entries lack W. The count of what was done goes up.
 */
static int
fork_page(pte_t *to, pte_t *from, bool early, unsigned long *done)
{
	void *page = pte_page(*from);
	void *copy = early ? page_copy(page, PAGE_SIZE) : NULL;

	if (copy != NULL) {
		unsigned long flags = *from & PTE_FLAGS_MASK;

		table_set(to, pte_make(copy, flags | PTE_W));
		done[EARLY]++;
		return 0;
	}
	if (early && LAB_STACK_MUST)
		return -ENOMEM;
	page_ref(page);
	*from &= ~(pte_t)PTE_W;
	table_set(to, *from);
	done[SHARED]++;
	return 0;
}

/* The same for all pages of a region. */
static int
fork_region(struct aspace *child, struct aspace *as, const struct region *r,
	    unsigned long *done)
{
	unsigned long ignored[COW_COUNTS] = {0};
	int error = 0;

	if (!(r->prot & PROT_W) && !LAB_READ_ONLY_TOO)
		done = ignored;
	for (uintptr_t va = r->low; va < r->high && error == 0;
	     va += PAGE_SIZE) {
		pte_t *from = table_walk(as, va, false), *to;

		if (from == NULL || *from == 0)
			continue;
		to = table_walk(child, va, true);
		if (to == NULL)
			return -ENOMEM;
		error = fork_page(to, from, copied_early(r, va), done);
		if (error == 0)
			child->resident++;
	}
	return error;
}

/* The child can't run before the flush, and no page of as be copied. It comes
 * after an error, too, as no hart should remember more than entries allow. */
int
cow_fork(struct aspace *child, struct aspace *as)
{
	unsigned long done[COW_COUNTS] = {0};
	struct aspace *counter = LAB_COUNTER(child, as);
	int error = 0;

	list_each (struct region, r, &as->regions, link)
		if (error == 0)
			error = fork_region(child, as, r, done);
	aspace_flush(as);
	if (error != 0)
		return error;
	if (LAB_INHERITS)
		memcpy(child->cow, as->cow, sizeof(child->cow));
	counter->cow[SHARED] += done[SHARED];
	counter->cow[EARLY] += done[EARLY];
	return 0;
}

/* Nobody else has the page: only a fork could add a reference. */
static void
take_over(struct aspace *as, uintptr_t va, pte_t *pte)
{
	*pte |= PTE_W;
	tlb_flush_page(va);
	as->cow[TAKEN]++;
}

/* The old page, which is the caller's to free after a flush; NULL: no memory.
 * Before the flush the new entry has no W: else what one hart stores by it is
 * not what another one reads by the old entry. */
static void *
copy(pte_t *pte)
{
	void *old = pte_page(*pte), *page = page_copy(old, PAGE_SIZE);

	if (page == NULL)
		return NULL;
	table_set(pte, pte_make(page, *pte & PTE_FLAGS_MASK));
	return old;
}

/* The entry of a neighbour that a write may copy, too; NULL: it is none. */
static pte_t *
shared_neighbour(struct aspace *as, const struct region *r, uintptr_t va)
{
	pte_t *pte = NULL;

	if (r->start <= va && va < r->end)
		pte = table_walk(as, va, false);
	return pte != NULL && *pte != 0 && !(*pte & PTE_W) ? pte : NULL;
}

int
cow_write(struct aspace *as, struct region *r, uintptr_t va, pte_t *pte)
{
	uintptr_t first = LAB_FIRST(va);
	void *old[COW_WINDOW];
	pte_t *copied[COW_WINDOW] = {pte};
	unsigned int n = 0;

	if (page_refs(pte_page(*pte)) == 1)
		take_over(as, va, pte);
	else if ((old[n++] = copy(pte)) == NULL)
		return -ENOMEM;
	for (uintptr_t at = first; at < first + COW_WINDOW * PAGE_SIZE;
	     at += PAGE_SIZE) {
		pte = shared_neighbour(as, r, at);
		if (pte == NULL || at == va)
			continue;
		if (page_refs(pte_page(*pte)) > 1) {
			copied[n] = pte;
			if ((old[n] = copy(pte)) == NULL)
				break;
			n++;
		} else if (LAB_TAKES_NEIGHBOURS) {
			take_over(as, at, pte);
		}
	}
	if (n > 0)
		aspace_flush(as);
	as->cow[COPIED] += LAB_BY_WRITES ? n > 0 : n;
	while (n > 0) {
		*copied[--n] |= PTE_W;
		page_free(old[n]);
	}
	return 0;
}

void
cow_counts(const struct aspace *as, unsigned long counts[COW_COUNTS])
{
	for (unsigned int i = 0; i < COW_COUNTS; i++)
		counts[i] = as->cow[order[i]];
}
