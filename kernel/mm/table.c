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
table_alloc(struct aspace *as, pte_t *entry)
{
	pte_t *table = NULL;

	if (page_spare(1, LEFT_BY_FAULTS))
		table = page_alloc_zero();
	if (table != NULL) {
		list_append(&as->tables, &page_of(table)->link);
		page_of(table)->entry = entry;
		as->ntables++;
	}
	return table;
}

/*
 * Pages are unmapped already. Those below a table are younger than it, so they
 * come first, and take their entries with them: it has none left when its turn
 * comes. So the next process finds tables of zeroes, and needs to clear none.
 */
void
table_free_all(struct aspace *as)
{
	ktable_clear_root(as->root);
	while (!list_empty(&as->tables)) {
		struct page *p = container_of(as->tables.prev, struct page,
					      link);

		list_remove(&p->link);
		if (p->entry != NULL)
			*p->entry = 0;
		page_free_zero(page_address(p));
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
	if (gone->n > 0)
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
		pte_t *table = table_alloc(as, entry);

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

/*
 * The first leaf table with entries for [*va, end). *va moves on to the first
 * page that it has an entry for, and *stop is where its entries for that range
 * end. Returns the entry that leads to it, or NULL: there are no more. What has
 * no table is passed by a gigabyte, or 2 MiB, at a time: a program may have
 * touched two pages that are far apart.
 */
static pte_t *
leaf_table(struct aspace *as, uintptr_t *va, uintptr_t end, uintptr_t *stop)
{
	while (*va < end) {
		pte_t *middle = table_middle(as, *va, false);
		unsigned int shift = middle ? SHIFT_MIDDLE : SHIFT_ROOT;

		*stop = ((*va >> shift) + 1) << shift;
		if (*stop > end)
			*stop = end;
		if (middle != NULL && *middle != 0)
			return middle;
		*va = *stop;
	}
	return NULL;
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
 * Unmap [start, end), whose entries are in the table that *middle leads to. If
 * that is empty afterwards, it goes as well, unless all tables are freed soon.
 * (Those of the middle level are kept: there are 256 at most.)
 */
static void
unmap_part(pte_t *middle, uintptr_t start, uintptr_t end, struct gone *gone)
{
	pte_t *leaf = pte_page(*middle);

	unmap_leaves(&leaf[table_index(start, SHIFT_LEAF)],
		     (end - start) >> PAGE_SHIFT, gone);
	if (!gone->as->going && table_empty(leaf)) {
		*middle = 0;
		list_remove(&page_of(leaf)->link);
		gone->as->ntables--;
		gone_add(gone, leaf);
	}
}

void
table_unmap(struct aspace *as, uintptr_t start, uintptr_t end)
{
	struct gone gone;
	uintptr_t stop;
	pte_t *middle;

	gone.as = as;
	gone.n = 0;
	for (uintptr_t va = start; (middle = leaf_table(as, &va, end, &stop));
	     va = stop)
		unmap_part(middle, va, stop, &gone);
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
	pte_t *middle;

	for (uintptr_t va = start; (middle = leaf_table(from, &va, end, &stop));
	     va = stop) {
		pte_t *src = pte_page(*middle);
		pte_t *dst = table_walk(to, va, true);

		if (dst == NULL)
			return -ENOMEM;
		to->resident += share_leaves(dst,
					     &src[table_index(va, SHIFT_LEAF)],
					     (stop - va) >> PAGE_SHIFT);
	}
	return 0;
}

static pte_t
pte_protect(pte_t pte, int prot)
{
	pte_t rights = prot & (PTE_R | PTE_X);

	if (prot != 0)
		rights |= PTE_V;
	if (prot & PROT_W)
		rights |= pte & PTE_W;
	return (pte & ~(pte_t)(PTE_V | PTE_R | PTE_W | PTE_X)) | rights;
}

void
table_protect(struct aspace *as, uintptr_t start, uintptr_t end, int prot)
{
	uintptr_t stop;
	pte_t *middle;

	for (uintptr_t va = start; (middle = leaf_table(as, &va, end, &stop));
	     va = stop) {
		pte_t *p = pte_page(*middle);

		p += table_index(va, SHIFT_LEAF);
		for (size_t n = (stop - va) >> PAGE_SHIFT; n > 0; n--, p++)
			if (*p != 0)
				table_set(p, pte_protect(*p, prot));
	}
}

/*
 * Make the tables for what moves from [start, end) to `to'. The entries of one
 * table move to one or two others, as they may begin anywhere in it.
 */
static int
make_tables(struct aspace *as, uintptr_t start, uintptr_t end, uintptr_t to)
{
	uintptr_t stop;

	for (uintptr_t va = start; leaf_table(as, &va, end, &stop); va = stop)
		if (table_walk(as, to + (va - start), true) == NULL ||
		    table_walk(as, to + (stop - start) - 1, true) == NULL)
			return -ENOMEM;
	return 0;
}

/* Between the first change and the flush a hart may reach a page by its old
 * address. That does no harm: it is the same page, and stays in use. */
int
table_move(struct aspace *as, uintptr_t start, uintptr_t end, uintptr_t to)
{
	int error = make_tables(as, start, end, to);
	uintptr_t stop;
	pte_t *middle;

	for (uintptr_t va = start;
	     error == 0 && (middle = leaf_table(as, &va, end, &stop));
	     va = stop) {
		pte_t *p = pte_page(*middle);

		for (; va < stop; va += PAGE_SIZE) {
			pte_t *from = &p[table_index(va, SHIFT_LEAF)];

			if (*from == 0)
				continue;
			table_set(table_walk(as, to + (va - start), false),
				  *from);
			*from = 0;
		}
	}
	aspace_flush(as);
	/* One of the two has tables without an entry, which go. */
	if (error == 0)
		table_unmap(as, start, end);
	else
		table_unmap(as, to, to + (end - start));
	return error;
}
