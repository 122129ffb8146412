/*
 * What was stored in each page of RAM, and which harts are sure to see it.
 *
 * A page that an entry leads to must be complete before another hart can find
 * the entry: all stores in the page are ordered before that of the entry.
 *
 * A hart's instruction cache may hold the bytes of any page, as they were at
 * any time before its last fence.i. So where a hart executes, all stores in the
 * page are ordered before its last fence.i; and they are so already when it is
 * let in there, by an entry that it may find.
 *
 * Known are the stores of the kernel, in the direct map. That is enough: user
 * mode can't write where it executes, and no device's pages are mapped.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static struct page {
	uint32_t stored[HARTS]; /* the moment of each hart's last store, */
	uint64_t at[HARTS];     /* and which instruction that was */
	uint32_t version;       /* the number of stores */
	uint32_t good[HARTS];   /* the version that was checked for a hart */
} * pages;

/* What is ordered before each hart's last fence.i. */
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
