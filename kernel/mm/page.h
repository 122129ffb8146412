/* Pages of physical memory, of which all that is allocated consists. */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/layout.h"
#include "kstack.h"

static inline uintptr_t
page_round_down(uintptr_t va)
{
	return va & ~(uintptr_t)(PAGE_SIZE - 1);
}

static inline uintptr_t
page_round_up(uintptr_t va)
{
	return page_round_down(va + PAGE_SIZE - 1);
}

/*
 * A page is named by its address in the direct map. It has a reference count,
 * which is 1 when it is allocated; each page_free drops a reference, and the
 * last one frees the page. These functions never panic for want of memory:
 * they return NULL. Call them at level 0 or 1, not from interrupt handlers.
 *
 * page_init hands over the physical memory [start, end), except a hole, which
 * may be empty (0, 0): the initial RAM disk, which is unpacked later. page_add
 * frees the hole, or a part of it. Both widen the hole to whole pages.
 */
void page_init(uint64_t start, uint64_t end, uint64_t hole_start,
	       uint64_t hole_end);
void page_add(uint64_t start, uint64_t end);
void *page_alloc(void); /* contents undefined */
void *page_alloc_zero(void);
void page_free_zero(void *page); /* nobody shares it, and it is all zeroes */
void page_ref(void *page);
void page_free(void *page);
unsigned int page_refs(const void *page);
size_t page_count_free(void); /* exact while nothing allocates or frees */
size_t page_count_total(void);
/*
 * Reserves. Whoever wants pages for something new must leave so many pages to
 * those whose need is more urgent; it asks page_spare beforehand. The more
 * urgent, the smaller the number:
 *
 *   LEFT_BY_FILES	contents of files: when these have taken all they may,
 *   LEFT_BY_NAMES	there is room for new names, and for programs that
 *			remove files
 *   LEFT_BY_PROGRAMS	heaps, threads, pipes and the like: when these have
 *			taken all they may,
 *   LEFT_BY_FORK	a process can still be started, to end some of them
 *   LEFT_BY_FAULTS	those that run find the pages they were promised
 *
 * The last pages are for the kernel's own small allocations, which ask nobody.
 */
enum {
	LEFT_BY_FILES = 256,
	LEFT_BY_NAMES = 224,
	LEFT_BY_PROGRAMS = 96,
	LEFT_BY_FORK = 64,
	LEFT_BY_FAULTS = 32,
};
extern size_t page_nfree; /* atomic; without the pages in harts' caches */
/* Would so many be left if n more were taken? Nothing is reserved. */
static inline bool
page_spare(size_t n, size_t left)
{
	size_t free = __atomic_load_n(&page_nfree, __ATOMIC_RELAXED);

	return free >= n + left || free + kstack_reclaimable() >= n + left;
}

/* For tests: says of each allocation whether it is to fail; or NULL. */
extern bool (*alloc_fails)(void);

#endif
