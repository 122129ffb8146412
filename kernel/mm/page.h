/*
 * What the allocator knows about each page of memory. For page.c, kmalloc.c
 * and the page tables; everyone else has enough with mm.h.
 */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

#include "mm.h"

enum page_use {
	PAGE_OTHER, /* in use, cached, or never handed over */
	PAGE_FREE,  /* in the list of free pages */
	PAGE_SMALL, /* holds kmalloc's small objects */
};

struct page {
	struct list link; /* of free pages, a class's, or an aspace's tables */
	union {
		void *objects; /* PAGE_SMALL: the first of the free objects */
		size_t npages; /* the first of a large kmalloc block: of it */
	};
	unsigned int refs; /* atomic */
	uint8_t use;       /* enum page_use */
	uint8_t class;     /* PAGE_SMALL: of its objects */
	uint16_t used;     /* PAGE_SMALL: objects in use */
};

extern struct page *page_array;
extern size_t page_array_length;
extern uint64_t page_base; /* physical address of page_array[0]'s page */

/* The struct page of the page at, or around, va. */
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

/* n pages in a row. For kmalloc, which everyone else calls. */
void *pages_alloc(size_t n);
void pages_free(void *pages, size_t n);

#endif
