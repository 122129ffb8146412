/*
 * The page tables of user address spaces: finding an entry, taking a range
 * away, sharing one with another address space.
 *
 * The caller holds the address space's lock, or no one else knows it.
 */
#include "table.h"

#include <errno.h>

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
	aspace_flush(gone->as, 0, 0);
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

pte_t *
table_alloc(void)
{
	pte_t *table = page_alloc_zero();

	if (table != NULL)
		page_of(table)->used = 0;
	return table;
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

/* Clear an entry, which leads to an empty table or is the last step there. */
static void
prune(pte_t *entry, struct gone *gone)
{
	gone_add(gone, pte_page(*entry));
	*entry = 0;
	page_of(entry)->used--;
}

/* Take away the tables on the way to va that have become empty. */
static void
prune_tables(pte_t *root, uintptr_t va, struct gone *gone)
{
	pte_t *top = &root[table_index(va, SHIFT_ROOT)];
	pte_t *middle = pte_page(*top);
	pte_t *entry = &middle[table_index(va, SHIFT_MIDDLE)];

	if (page_of(pte_page(*entry))->used == 0)
		prune(entry, gone);
	if (page_of(middle)->used == 0)
		prune(top, gone);
}

void
table_unmap(struct aspace *as, uintptr_t start, uintptr_t end)
{
	struct gone gone = {.as = as};
	uintptr_t va = start;

	while (va < end) {
		uintptr_t stop = leaf_table_end(va, end);
		pte_t *pte = table_walk(as->root, va, false);
		unsigned int n = 0;

		if (pte == NULL) {
			va = stop;
			continue;
		}
		struct page *table = page_of(pte);
		for (uintptr_t at = va; at < stop; at += PAGE_SIZE, pte++) {
			if (*pte == 0)
				continue;
			gone_add(&gone, pte_page(*pte));
			*pte = 0;
			n++;
		}
		table->used -= n;
		as->resident -= n;
		prune_tables(as->root, va, &gone);
		va = stop;
	}
	gone_free(&gone);
}
