/* What the allocator knows about each page. Most files need only page.h. */
#ifndef KERNEL_PAGES_H
#define KERNEL_PAGES_H

#include "base/list.h"
#include "page.h"

enum page_use {
	PAGE_OTHER, /* in use, cached, or never handed over */
	PAGE_FREE,  /* in the list of free pages */
	PAGE_SMALL, /* holds kmalloc's small objects */
	PAGE_LARGE, /* the first of a large block of kmalloc's */
};

/*
 * One for each page of memory, in page_array. page_lock guards link and use of
 * a free one, its class's lock small objects' pages, as->lock a table's link.
 */
struct page {
	struct list link; /* of free pages, a class's, or an aspace's tables */
	union {
		void *objects;   /* PAGE_SMALL: the first of the free objects */
		size_t npages;   /* PAGE_LARGE: of the block */
		uint64_t *entry; /* a page table: what leads to it, if any */
	};
	unsigned int refs; /* atomic; not used for pages_alloc's n > 1 */
	uint8_t use;       /* enum page_use */
	uint8_t class;     /* PAGE_SMALL: size class of its objects */
	uint16_t used;     /* PAGE_SMALL: objects in use */
};

extern struct page *page_array;
extern size_t page_array_length;
extern uint64_t page_base; /* physical address of page_array[0]'s page */

/* The struct page of the page that includes va, in the direct map. */
static inline struct page *
page_of(const void *va)
{
	return &page_array[(va_to_pa(va) - page_base) >> PAGE_SHIFT];
}

static inline void *
page_address(const struct page *p)
{
	return pa_to_va(page_base + ((uint64_t)(p - page_array) << PAGE_SHIFT));
}

/* n pages in a row; NULL: no memory. For kmalloc, which all others call. */
void *pages_alloc(size_t n);
void pages_free(void *pages, size_t n);

#endif
