/*
 * The page tables of user address spaces: finding an entry, taking a range
 * away, sharing one with another address space.
 *
 * The caller holds the address space's lock, or no one else knows it.
 */
#include "table.h"

#include <errno.h>

pte_t *
table_alloc(void)
{
	pte_t *table = page_alloc_zero();

	if (table != NULL) {
		page_of(table)->use = PAGE_TABLE;
		page_of(table)->used = 0;
	}
	return table;
}

void
table_free(pte_t *table)
{
	page_of(table)->use = PAGE_OTHER;
	page_free_zero(table);
}

/*
 * Pages that are no longer mapped, but that a hart may still reach through
 * its cached translations: they are freed once those are flushed.
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
	while (gone->n > 0) {
		void *page = gone->page[--gone->n];

		if (page_of(page)->use == PAGE_TABLE)
			table_free(page);
		else
			page_free(page);
	}
}

static void
gone_add(struct gone *gone, void *page)
{
	if (gone->n == sizeof(gone->page) / sizeof(gone->page[0]))
		gone_free(gone);
	gone->page[gone->n++] = page;
}

/* The table below an entry, or NULL as for table_walk. */
static pte_t *
table_below(pte_t *entry, bool create)
{
	if (*entry == 0 && create) {
		pte_t *table = table_alloc();

		if (table != NULL)
			table_set(entry, pte_make(table, PTE_V));
	}
	return *entry == 0 ? NULL : pte_page(*entry);
}

pte_t *
table_walk(pte_t *root, uintptr_t va, bool create)
{
	pte_t *table = root;

	table = table_below(&table[table_index(va, SHIFT_ROOT)], create);
	if (table == NULL)
		return NULL;
	table = table_below(&table[table_index(va, SHIFT_MIDDLE)], create);
	if (table == NULL)
		return NULL;
	return &table[table_index(va, SHIFT_LEAF)];
}

/* The end of the part of [va, end) that va's leaf table stands for. */
static uintptr_t
leaf_table_end(uintptr_t va, uintptr_t end)
{
	uintptr_t next = ((va >> SHIFT_MIDDLE) + 1) << SHIFT_MIDDLE;

	return next < end ? next : end;
}

/* Clear n entries from pte on, and let go of the pages that were there. */
static void
unmap_leaves(pte_t *pte, size_t n, struct gone *gone)
{
	unsigned int found = 0;

	for (pte_t *p = pte; p < pte + n; p++) {
		if (*p == 0)
			continue;
		gone_add(gone, pte_page(*p));
		*p = 0;
		found++;
	}
	page_of(pte)->used -= found;
	gone->as->resident -= found;
}

/* Clear an entry that leads to an empty table, and let go of the table. */
static void
prune(pte_t *entry, struct gone *gone)
{
	void *table = pte_page(*entry);

	if (page_of(table)->used != 0)
		return;
	gone_add(gone, table);
	*entry = 0;
	page_of(entry)->used--;
}

/* Unmap [start, end), of which one leaf table has all, and what tables on the
 * way there are empty then. */
static void
unmap_part(uintptr_t start, uintptr_t end, struct gone *gone)
{
	pte_t *top = &gone->as->root[table_index(start, SHIFT_ROOT)];
	pte_t *middle, *leaf;

	if (*top == 0)
		return;
	middle = pte_page(*top);
	middle += table_index(start, SHIFT_MIDDLE);
	if (*middle != 0) {
		leaf = pte_page(*middle);
		unmap_leaves(&leaf[table_index(start, SHIFT_LEAF)],
			     (end - start) >> PAGE_SHIFT, gone);
		prune(middle, gone);
	}
	prune(top, gone);
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
		unmap_part(va, stop, &gone);
	}
	gone_free(&gone);
}

/* Share n pages whose entries start at `from`; how many there were. */
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
		pte_t *src = table_walk(from->root, va, false);
		pte_t *dst;
		size_t n;

		stop = leaf_table_end(va, end);
		if (src == NULL)
			continue;
		dst = table_walk(to->root, va, true);
		if (dst == NULL)
			return -ENOMEM;
		n = share_leaves(dst, src, (stop - va) >> PAGE_SHIFT);
		page_of(dst)->used += n;
		to->resident += n;
	}
	return 0;
}
