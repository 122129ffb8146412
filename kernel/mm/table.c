/*
 * The page tables of user address spaces. table.h explains the format.
 *
 * The caller holds the address space's lock, or nobody else knows the address
 * space. A page, or a table, whose entry has been cleared isn't freed before
 * all harts have flushed: until then they may still access it.
 */
#include "table.h"

#include <errno.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/riscv.h"

#include "aspace.h"
#include "page.h"
#include "pages.h"

pte_t *
table_alloc(struct aspace *as)
{
	pte_t *table = NULL;

	if (page_spare(1, LEFT_BY_FAULTS))
		table = page_alloc_zero();
	if (table != NULL) {
		list_append(&as->tables, &page_of(table)->link);
		as->ntables++;
	}
	return table;
}

void
table_free_all(struct aspace *as)
{
	while (!list_empty(&as->tables)) {
		struct page *p = container_of(as->tables.next, struct page,
					      link);

		list_remove(&p->link);
		page_free(page_address(p));
	}
}

/*
 * Pages (and empty leaf tables) that are no longer mapped, but that a hart may
 * still reach until it has flushed. A flush may have to interrupt and wait for
 * all harts, so there is one for 64 pages, not one for each.
 */
struct gone {
	struct aspace *as;
	unsigned int n;
	void *page[64];
};

static void
gone_free(struct gone *gone)
{
	aspace_flush(gone->as);
	while (gone->n > 0)
		page_free(gone->page[--gone->n]);
}

static void
gone_add(struct gone *gone, void *page)
{
	if (gone->n == sizeof(gone->page) / sizeof(gone->page[0]))
		gone_free(gone);
	gone->page[gone->n++] = page;
}

/* The table that an entry of as leads to; NULL as for table_walk. */
static pte_t *
table_below(struct aspace *as, pte_t *entry, bool create)
{
	if (*entry == 0 && create) {
		pte_t *table = table_alloc(as);

		if (table != NULL)
			table_set(entry, pte_make(table, PTE_V));
	}
	return *entry == 0 ? NULL : pte_page(*entry);
}

/* The entry that leads to va's leaf table; NULL as for table_walk. */
static pte_t *
table_middle(struct aspace *as, uintptr_t va, bool create)
{
	pte_t *top = &as->root[table_index(va, SHIFT_ROOT)];
	pte_t *table = table_below(as, top, create);

	return table == NULL ? NULL : &table[table_index(va, SHIFT_MIDDLE)];
}

pte_t *
table_walk(struct aspace *as, uintptr_t va, bool create)
{
	pte_t *middle = table_middle(as, va, create);
	pte_t *table = middle == NULL ? NULL : table_below(as, middle, create);

	return table == NULL ? NULL : &table[table_index(va, SHIFT_LEAF)];
}

/* The end of the part of [va, end) that va's leaf table has entries for. */
static uintptr_t
leaf_table_end(uintptr_t va, uintptr_t end)
{
	uintptr_t next = ((va >> SHIFT_MIDDLE) + 1) << SHIFT_MIDDLE;

	return next < end ? next : end;
}

static void
unmap_leaves(pte_t *pte, size_t n, struct gone *gone)
{
	for (pte_t *p = pte; p < pte + n; p++) {
		if (*p == 0)
			continue;
		gone_add(gone, pte_page(*p));
		*p = 0;
		gone->as->resident--;
	}
}

static bool
table_empty(const pte_t *table)
{
	unsigned int i = 0;

	while (i < TABLE_ENTRIES && table[i] == 0)
		i++;
	return i == TABLE_ENTRIES;
}

/*
 * Unmap [start, end), for which one leaf table has all entries. If that is
 * empty afterwards, it goes as well, unless all tables are freed soon. (Those
 * of the middle level are kept: user addresses need no more than two.)
 */
static void
unmap_part(struct aspace *as, uintptr_t start, uintptr_t end, struct gone *gone)
{
	pte_t *middle = table_middle(as, start, false), *leaf;

	if (middle == NULL || *middle == 0)
		return;
	leaf = pte_page(*middle);
	unmap_leaves(&leaf[table_index(start, SHIFT_LEAF)],
		     (end - start) >> PAGE_SHIFT, gone);
	if (!as->going && table_empty(leaf)) {
		*middle = 0;
		list_remove(&page_of(leaf)->link);
		as->ntables--;
		gone_add(gone, leaf);
	}
}

void
table_unmap(struct aspace *as, uintptr_t start, uintptr_t end)
{
	struct gone gone;
	uintptr_t stop;

	gone.as = as;
	gone.n = 0;
	for (uintptr_t va = start; va < end; va = stop) {
		stop = leaf_table_end(va, end);
		unmap_part(as, va, stop, &gone);
	}
	gone_free(&gone);
}

/*
 * Share the pages of n entries, from `from` on: both sides get entries without
 * W, and each page a reference for the new one. Returns how many there were.
 *
 * Nothing is flushed here. Until the child runs it harms nobody that harts may
 * still write by their old translations: the child finds what they wrote.
 * aspace_fork flushes once, for all ranges, before it releases the parent's
 * lock. So no page can be copied, and the child can't start, before that.
 */
static unsigned int
share_leaves(pte_t *to, pte_t *from, size_t n)
{
	unsigned int found = 0;

	for (pte_t *end = from + n; from < end; from++, to++) {
		pte_t pte = *from;

		if (pte == 0)
			continue;
		page_ref(pte_page(pte));
		if (pte & PTE_W) {
			pte &= ~(pte_t)PTE_W;
			*from = pte;
		}
		*to = pte;
		found++;
	}
	return found;
}

int
table_share(struct aspace *to, struct aspace *from, uintptr_t start,
	    uintptr_t end)
{
	uintptr_t stop;

	for (uintptr_t va = start; va < end; va = stop) {
		pte_t *src = table_walk(from, va, false);
		pte_t *dst;

		stop = leaf_table_end(va, end);
		if (src == NULL)
			continue;
		dst = table_walk(to, va, true);
		if (dst == NULL)
			return -ENOMEM;
		to->resident += share_leaves(dst, src,
					     (stop - va) >> PAGE_SHIFT);
	}
	return 0;
}
