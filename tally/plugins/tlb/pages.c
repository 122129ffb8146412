/*
 * Notes the stores to each page of RAM, and which harts are sure to see them.
 *
 * A page must be complete before another hart can find an entry for it: all
 * stores to the page must be ordered before the store of the entry.
 *
 * A hart's instruction cache may hold any page's bytes as they were at any time
 * before the hart's last fence.i. So all stores to a page must be ordered
 * before the last fence.i of a hart that executes there, even before an entry
 * allows it to.
 *
 * Only the kernel's stores in the direct map are noted. They suffice: user mode
 * can't write where it executes, and no device's pages are mapped.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static struct page {
	uint32_t stored[HARTS]; /* the moment of each hart's last store */
	uint64_t at[HARTS];     /* and its instruction */
	uint32_t version;       /* the number of stores */
	uint32_t good[HARTS];   /* the version that was checked for a hart */
} * pages;

/* The accesses ordered before each hart's last fence.i. */
static struct vclock fenced[HARTS];

void
pages_init(void)
{
	pages = calloc(npages, sizeof(*pages));
	if (pages == NULL)
		die("no memory");
}

void
pages_stored(unsigned int hart, size_t page, uint64_t pc)
{
	struct page *p = &pages[page];

	p->stored[hart] = order_now(hart);
	p->at[hart] = pc;
	p->version++;
}

void
pages_fence_i(unsigned int hart)
{
	fenced[hart] = order_before_reads(hart);
}

void
pages_fetched(unsigned int hart, size_t page, uint64_t va, uint64_t pc)
{
	struct page *p = &pages[page];

	if (p->good[hart] == p->version)
		return;
	p->good[hart] = p->version;
	for (unsigned int i = 0; i < nharts; i++)
		if (p->stored[i] > fenced[hart].at[i])
			report("text", hart, pc, va, i, p->at[i]);
}

bool
pages_published(unsigned int hart, size_t page, unsigned int *other,
		uint64_t *at)
{
	const struct page *p = &pages[page];
	struct vclock v = order_before_stores(hart);

	for (unsigned int i = 0; i < nharts; i++)
		if (p->stored[i] > v.at[i]) {
			*other = i;
			*at = p->at[i];
			return false;
		}
	return true;
}
