/*
 * Pages of memory: a list of the free ones, and in front of it a small cache
 * for each hart.
 *
 * Fork, exec and page faults want single pages only. Those come from and go to
 * the hart's own cache, which needs no lock, only a raised level: nothing else
 * runs on the hart then that might use the cache. It knows which of its pages
 * are all zeroes, as page tables are when they are freed: a page of zeroes is
 * wanted as often as any, and to make one takes as long as the rest of fork.
 *
 * The few who want several pages in a row, for a large kmalloc block, get the
 * highest that are free, found by looking from the end of memory down. Single
 * pages come from its start, as long as there are some that were never used.
 * So the two don't mix, and the search soon succeeds.
 *
 * If no other page is left, those of kernel stacks that are kept for reuse are
 * taken back (kstack.c). page_alloc knows nothing of the reserves in page.h:
 * whoever must leave pages to others asks page_spare first.
 */
#include "page.h"

#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/list.h"
#include "base/panic.h"
#include "machine/machine.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"

#include "check_memory.h"
#include "kstack.h"
#include "pages.h"

#define CACHE_MAX 22 /* pages that a hart keeps to itself */

/*
 * With fewer pages than this on the free list, a hart keeps one page only: 16
 * harts with full caches would have 352 pages, more than the largest reserve in
 * page.h. It is more than any reserve, so the caches shrink in time.
 */
#define SHORT 512

struct page *page_array;
size_t page_array_length;
uint64_t page_base;
bool (*alloc_fails)(void);

static struct spinlock page_lock = SPINLOCK1("page");
/* Taken at its end. page_nfree is also read without the lock. */
static struct list free_pages GUARDED_BY(page_lock) = LIST_INIT(free_pages);
size_t page_nfree; /* pages in it */

/* How many pages a cache may hold: 1 while memory is short. Atomic. */
static size_t cache_limit = CACHE_MAX;

static size_t total; /* atomic: pages that page_add was given so far */

/* Used by its own hart only, at a raised level; others may read counts. */
static struct cache {
	size_t n;
	size_t nzero; /* the first so many are all zeroes */
	void *page[CACHE_MAX];
} caches[HART_MAX];

/* Put a page at the free list's end, to be taken next. page_lock is held. */
static void
free_put(struct page *p)
{
	must_hold(&page_lock);
	assert(p->use != PAGE_FREE);
	p->use = PAGE_FREE;
	list_append(&free_pages, &p->link);
}

static void
free_take(struct page *p)
{
	must_hold(&page_lock);
	p->use = PAGE_OTHER;
	list_remove(&p->link);
}

/* The free list has grown by so many pages. The caller holds page_lock. */
static void
nfree_change(long by)
{
	must_hold(&page_lock);
	page_nfree += by;
	__atomic_store_n(&cache_limit, page_nfree < SHORT ? 1 : CACHE_MAX,
			 __ATOMIC_RELAXED);
}

/*
 * A page of a cache that has some. *zero: one of zeroes, if there is one; then
 * it says whether that is what was taken. The last page fills the gap.
 */
static inline void *
cache_take(struct cache *c, bool *zero)
{
	void *last = c->page[--c->n], *page = last;

	*zero = c->nzero > (*zero ? 0 : c->n);
	if (*zero) {
		page = c->page[--c->nzero];
		c->page[c->nzero] = last;
	}
	return page;
}

/* Fill an empty cache. The level is raised. */
static SLOW_PATH void
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
}

/* Empty a full cache to half of its limit. The level is raised. */
static SLOW_PATH void
cache_drain(struct cache *c)
{
	size_t before = c->n;

	spin_lock(&page_lock);
	while (c->n > cache_limit / 2)
		free_put(page_of(c->page[--c->n]));
	if (c->nzero > c->n)
		c->nzero = c->n;
	nfree_change(before - c->n);
	spin_unlock(&page_lock);
}

/* This hart's cache. The level is raised. */
static struct cache *
this_cache(void)
{
	return &caches[this_hart()->id];
}

/* For *zero see cache_take. Tried again only after stacks have been given up,
 * so this ends. */
static inline void *
alloc(bool *zero)
{
	void *page = NULL;
	unsigned long sie;
	struct cache *c;

	if (alloc_fails != NULL && alloc_fails())
		return NULL;
	do {
		sie = level_raise(LEVEL1_MASK);
		c = this_cache();
		if (c->n == 0)
			cache_refill(c);
		if (c->n > 0)
			page = cache_take(c, zero);
		level_lower(sie);
	} while (page == NULL && kstack_reclaim());
	if (page == NULL)
		return NULL;
	check_pages_allocated(page, 1);
	page_of(page)->refs = 1;
	return page;
}

void *
page_alloc(void)
{
	bool zero = false;

	return alloc(&zero);
}

void *
page_alloc_zero(void)
{
	bool zero = true;
	void *page = alloc(&zero);

	return page == NULL || zero ? page : memset(page, 0, PAGE_SIZE);
}

void
page_ref(void *page)
{
	__atomic_fetch_add(&page_of(page)->refs, 1, __ATOMIC_RELAXED);
}

/*
 * An acquire: if one reference is left, its owner may write to the page, but
 * not before the others' last accesses (docs/locks.md: shared).
 */
unsigned int
page_refs(const void *page)
{
	return __atomic_load_n(&page_of(page)->refs, __ATOMIC_ACQUIRE);
}

/* The page is the last of this hart's cache then. */
static SLOW_PATH void
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

void
page_free_zero(void *page)
{
	unsigned long sie = level_raise(LEVEL1_MASK);
	bool zero = check_page_zero(page);
	struct cache *c = this_cache();

	page_release(page);
	if (zero) {
		c->page[c->n - 1] = c->page[c->nzero];
		c->page[c->nzero++] = page;
	}
	level_lower(sie);
}

/*
 * They go to the list's beginning, the lowest last: so single pages are taken
 * of them only when there are no others, and then from the lowest up.
 */
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

/* Take the highest n free pages in a row off the free list; NULL: none. */
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

/* What page_alloc could find: free list, caches, stacks kept for reuse. */
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

	/* The array lies at the start, or behind a hole that is in the way. */
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
