/*
 * Pages of memory: a list of the free ones, and in front of it a small cache
 * for each hart.
 *
 * Fork, exec and page faults want single pages only; those come from and go to
 * the hart's own cache, which needs no lock, only a raised level.
 *
 * The few who want several pages in a row get the highest that are free, found
 * by looking from the end of memory down. Single pages come from its start, as
 * long as there are some that were never used, so this soon succeeds.
 *
 * Not for interrupt handlers: what they need is allocated beforehand.
 */
#include "page.h"

#include <checks.h>
#include <string.h>

#include "../hart.h"
#include "../print.h"
#include "../thread.h"

#define CACHE_MAX 22 /* pages that a hart keeps to itself */

/* With fewer free pages than this, a hart keeps one. It is more than any
 * reserve: all pages but these few can be had before a reserve is touched. */
#define SHORT 512

struct page *page_array;
size_t page_array_length;
uint64_t page_base;
bool (*alloc_fails)(void);

static struct spinlock page_lock = SPINLOCK1("page");
/* Under page_lock: */
static struct list free_pages = LIST_INIT(free_pages); /* taken at its end */
size_t page_nfree;                                     /* pages in it */

/* What a cache holds at most; half of it moves at once. Atomic, and written
 * under page_lock. Where memory is short, what was left to others must not get
 * stuck with harts that don't need it. */
static size_t cache_limit = CACHE_MAX;

static size_t total; /* atomic: pages ever handed over */

/* Touched by its own hart only, at a raised level; others may read counts. */
static struct cache {
	size_t n;
	void *page[CACHE_MAX];
} caches[HART_MAX];

/* Put a page at the free list's end. page_lock held. */
static void
free_put(struct page *p)
{
	assert(p->use != PAGE_FREE);
	p->use = PAGE_FREE;
	list_append(&free_pages, &p->link);
}

/* Take a page off the free list. page_lock held. */
static void
free_take(struct page *p)
{
	p->use = PAGE_OTHER;
	list_remove(&p->link);
}

/* There are more pages in the list, or fewer. page_lock held. */
static void
nfree_change(long by)
{
	page_nfree += by;
	__atomic_store_n(&cache_limit, page_nfree < SHORT ? 1 : CACHE_MAX,
			 __ATOMIC_RELAXED);
}

/*
 * Fill an empty cache, and take a page of it; NULL: no memory. Level raised.
 * Out of line, as the other slow halves are: they would have every allocation
 * save registers for them.
 */
static __attribute__((noinline)) void *
cache_refill(struct cache *c)
{
	spin_lock(&page_lock);
	while (c->n < (cache_limit + 1) / 2 && !list_empty(&free_pages)) {
		struct page *p = container_of(free_pages.prev, struct page,
					      link);

		free_take(p);
		c->page[c->n++] = page_address(p);
	}
	nfree_change(-(long)c->n);
	spin_unlock(&page_lock);
	return c->n > 0 ? c->page[--c->n] : NULL;
}

/* Give back a part of a full cache. Level raised. */
static __attribute__((noinline)) void
cache_drain(struct cache *c)
{
	size_t before = c->n;

	spin_lock(&page_lock);
	while (c->n > cache_limit / 2)
		free_put(page_of(c->page[--c->n]));
	nfree_change(before - c->n);
	spin_unlock(&page_lock);
}

/* This hart's cache. The level is raised. */
static struct cache *
this_cache(void)
{
	return &caches[this_hart()->id];
}

void *
page_alloc(void)
{
	unsigned long sie;
	struct cache *c;
	void *page;

	if (alloc_fails != NULL && alloc_fails())
		return NULL;
	sie = level_raise(LEVEL1_MASK);
	c = this_cache();
	page = c->n > 0 ? c->page[--c->n] : cache_refill(c);
	level_lower(sie);
	if (page == NULL)
		return kstack_reclaim() ? page_alloc() : NULL;
	check_pages_allocated(page, 1);
	page_of(page)->refs = 1;
	return page;
}

void *
page_alloc_zero(void)
{
	void *page = page_alloc();

	return page != NULL ? memset(page, 0, PAGE_SIZE) : NULL;
}

void
page_ref(void *page)
{
	__atomic_fetch_add(&page_of(page)->refs, 1, __ATOMIC_RELAXED);
}

unsigned int
page_refs(const void *page)
{
	return __atomic_load_n(&page_of(page)->refs, __ATOMIC_ACQUIRE);
}

/* Put a page that no one has any more in this hart's cache. */
static __attribute__((noinline)) void
page_release(void *page)
{
	unsigned long sie = level_raise(LEVEL1_MASK);
	struct cache *c = this_cache();

	check_pages_freed(page, 1);
	if (c->n >= __atomic_load_n(&cache_limit, __ATOMIC_RELAXED))
		cache_drain(c);
	c->page[c->n++] = page;
	level_lower(sie);
}

void
page_free(void *page)
{
	unsigned int *refs = &page_of(page)->refs;
	unsigned int old = __atomic_fetch_sub(refs, 1, __ATOMIC_ACQ_REL);

	assert(old != 0);
	if (old == 1)
		page_release(page);
}

/* Free n pages in a row, for single use only when there are no others. */
static void
run_put(struct page *p, size_t n)
{
	struct list *next;

	spin_lock(&page_lock);
	next = free_pages.next;
	for (struct page *end = p + n; p < end; p++) { /* all memory, at boot */
		assert(p->use != PAGE_FREE);
		p->use = PAGE_FREE;
		p->link.next = next;
		next->prev = &p->link;
		next = &p->link;
	}
	next->prev = &free_pages;
	free_pages.next = next;
	nfree_change(n);
	spin_unlock(&page_lock);
}

/* The highest n free pages in a row, off the free list; NULL: none. */
static struct page *
run_take(size_t n)
{
	size_t found = 0;
	struct page *p;

	spin_lock(&page_lock);
	for (p = page_array + page_array_length; found < n && p > page_array;) {
		p--;
		found = p->use == PAGE_FREE ? found + 1 : 0;
	}
	if (found == n) {
		for (size_t i = 0; i < n; i++)
			free_take(&p[i]);
		nfree_change(-(long)n);
		check_pages_allocated(page_address(p), n);
	}
	spin_unlock(&page_lock);
	return found == n ? p : NULL;
}

void *
pages_alloc(size_t n)
{
	struct page *p;

	if (n == 1)
		return page_alloc();
	p = run_take(n);
	if (p == NULL && kstack_reclaim())
		p = run_take(n);
	return p == NULL ? NULL : page_address(p);
}

void
pages_free(void *pages, size_t n)
{
	if (n == 1) {
		page_free(pages);
	} else {
		check_pages_freed(pages, n);
		run_put(page_of(pages), n);
	}
}

size_t
page_count_free(void)
{
	size_t n = __atomic_load_n(&page_nfree, __ATOMIC_RELAXED);

	for (unsigned int i = 0; i < nharts; i++)
		n += __atomic_load_n(&caches[i].n, __ATOMIC_RELAXED);
	return n + kstack_reclaimable();
}

size_t
page_count_total(void)
{
	return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

void
page_add(uint64_t start, uint64_t end)
{
	size_t first = (page_round_down(start) - page_base) >> PAGE_SHIFT;
	size_t n = (page_round_up(end) - page_round_down(start)) >> PAGE_SHIFT;

	assert(first + n <= page_array_length);
	__atomic_fetch_add(&total, n, __ATOMIC_RELAXED);
	run_put(&page_array[first], n);
}

void
page_init(uint64_t start, uint64_t end, uint64_t hole_start, uint64_t hole_end)
{
	size_t size;

	start = page_round_up(start);
	end = page_round_down(end);
	if (hole_start == hole_end)
		hole_start = hole_end = end;
	hole_start = page_round_down(hole_start);
	hole_end = page_round_up(hole_end);

	/* The array comes first, or after the hole if it would reach into it;
	 * what neither of them takes is free. */
	page_base = start;
	page_array_length = (end - start) >> PAGE_SHIFT;
	size = page_round_up(page_array_length * sizeof(struct page));
	if (start + size <= hole_start) {
		page_array = pa_to_va(start);
		start += size;
	} else {
		page_array = pa_to_va(hole_end);
		hole_end += size;
	}
	memset(page_array, 0, size);
	page_add(start, hole_start);
	page_add(hole_end, end);
}
