/*
 * What becomes of pages at a fork and when they are written: so far each fork
 * copies all that the child may ever write.
 */
#include "cow.h"

#include <errno.h>
#include <string.h>

#include "base/layout.h"

#include "page.h"
#include "table.h"

/* Give the child a page for each that as has mapped in r. What can't be written
 * needs no copy. */
static int
fork_region(struct aspace *child, struct aspace *as, const struct region *r)
{
	for (uintptr_t va = r->low; va < r->high; va += PAGE_SIZE) {
		pte_t *from = table_walk(as, va, false), *to;
		void *page;

		if (from == NULL || *from == 0)
			continue;
		to = table_walk(child, va, true);
		if (to == NULL)
			return -ENOMEM;
		page = pte_page(*from);
		if (r->prot & PROT_W)
			page = page_copy(page, PAGE_SIZE);
		else
			page_ref(page);
		if (page == NULL)
			return -ENOMEM;
		table_set(to, pte_make(page, *from & PTE_FLAGS_MASK));
		child->resident++;
	}
	return 0;
}

int
cow_fork(struct aspace *child, struct aspace *as)
{
	int error = 0;

	list_each (struct region, r, &as->regions, link)
		if (error == 0)
			error = fork_region(child, as, r);
	return error;
}

/* The page is a file's, and stays as it is there. */
int
cow_write(struct aspace *as, struct region *, uintptr_t, pte_t *pte)
{
	void *old = pte_page(*pte);
	void *page = page_copy(old, PAGE_SIZE);

	if (page == NULL)
		return -ENOMEM;
	/* Other threads may read the old page until all harts have flushed. So
	 * none may write to the new one before that. */
	table_set(pte, pte_make(page, *pte & PTE_FLAGS_MASK));
	aspace_flush(as);
	*pte |= PTE_W;
	page_free(old);
	return 0;
}

void
cow_counts(const struct aspace *, unsigned long counts[COW_COUNTS])
{
	memset(counts, 0, COW_COUNTS * sizeof(*counts));
}
