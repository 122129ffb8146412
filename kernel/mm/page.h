/*
 * What the allocator knows about each page of memory. For page.c, kmalloc.c
 * and the page tables; everyone else has enough with mm.h.
 */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

#include "mm.h"

#define ORDER_MAX 10 /* the largest block has 1 << ORDER_MAX pages */

enum page_use {
	PAGE_OTHER, /* in use, cached, or never handed over */
	PAGE_FREE,  /* the first of a free block */
	PAGE_SMALL, /* holds kmalloc's small objects */
	PAGE_TABLE, /* a user's page table */
};

struct page {
	struct list link;  /* in a list of free blocks, or of a class's pages */
	void *objects;     /* PAGE_SMALL: the first of the free objects */
	unsigned int refs; /* atomic */
	uint8_t use;       /* enum page_use */
	uint8_t order;     /* of a free or a kmalloc block; PAGE_SMALL: class */
	uint16_t used;     /* objects in use; a page table's valid entries */
};

extern struct page *page_array;
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

/* The least order whose block holds size bytes; may exceed ORDER_MAX. */
static inline unsigned int
order_for(size_t size)
{
	unsigned int order = 0;

	while (((size_t)PAGE_SIZE << order) < size && order <= ORDER_MAX)
		order++;
	return order;
}

#endif
