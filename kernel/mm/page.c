/*
 * Pages of memory: a buddy allocator, and in front of it a small cache of
 * single pages for each hart.
 *
 * Free memory is kept in blocks of 2^order pages, aligned to their size. A
 * block that is freed joins its buddy, the other half of the block twice as
 * large, if that is free too. Fork, exec and page faults want single pages
 * only; those come from and go to the hart's own cache, which needs no lock,
 * only a raised level. It keeps some pages apart that were freed full of
 * zeroes, as emptied page tables are.
 *
 * Not for interrupt handlers: what they need is allocated beforehand.
 */
#include "page.h"

#include <string.h>

#include "../hart.h"
#include "../print.h"
#include "../thread.h"

#define BLOCK_MAX ((uint64_t)PAGE_SIZE << ORDER_MAX)

#define CACHE_MAX   22 /* pages a hart keeps to itself */
#define CACHE_BATCH 11 /* that move between it and the free lists at once */
#define CACHE_ZERO  8  /* besides, pages known to be all zeroes */

/* Pages that new processes leave to those already there. */
#define RESERVE 64

struct page *page_array;
uint64_t page_base;

static struct spinlock page_lock = SPINLOCK1("page");
/* Under page_lock: */
static struct list free_blocks[ORDER_MAX + 1];
static size_t blocks_free; /* pages in them */
static size_t total;       /* pages ever handed over */

static size_t array_length; /* constant */

/* Touched by its own hart only, at a raised level; others may read counts. */
static struct cache {
	size_t n, nzero;
	void *page[CACHE_MAX];
	void *zero[CACHE_ZERO];
} caches[HART_MAX];

static void
block_insert(struct page *p, unsigned int order)
{
	p->use = PAGE_FREE;
	p->order = order;
	list_append(&free_blocks[order], &p->link);
}

static void
block_remove(struct page *p)
{
	p->use = PAGE_OTHER;
	list_remove(&p->link);
}

/* Free a block, joining buddies as far as that goes. page_lock held. */
static void
block_put(struct page *p, unsigned int order)
{
	size_t i = p - page_array;

	blocks_free += 1UL << order;
	for (; order < ORDER_MAX; order++) {
		size_t buddy = i ^ 1UL << order;
		struct page *b = &page_array[buddy];

		if (buddy >= array_length || b->use != PAGE_FREE ||
		    b->order != order)
			break;
		block_remove(b);
		i &= ~(1UL << order);
	}
	block_insert(&page_array[i], order);
}

/* A block of 1 << order pages, or NULL; a larger one is halved until it fits,
 * and its upper halves stay free. page_lock held. */
static struct page *
block_take(unsigned int order)
{
	unsigned int have = order;
	struct page *p;

	while (have <= ORDER_MAX && list_empty(&free_blocks[have]))
		have++;
	if (have > ORDER_MAX)
		return NULL;
	p = container_of(free_blocks[have].prev, struct page, link);
	block_remove(p);
	while (have > order) {
		have--;
		block_insert(p + (1UL << have), have);
	}
	blocks_free -= 1UL << order;
	return p;
}

/*
 * Fill an empty cache, and take a page of it; NULL: no memory. Level raised.
 * Out of line, as the other slow halves are: they would have every allocation
 * save registers for them.
 */
static __attribute__((noinline)) void *
cache_refill(struct cache *c)
{
	struct page *p;

	spin_lock(&page_lock);
	while (c->n < CACHE_BATCH && (p = block_take(0)) != NULL)
		c->page[c->n++] = page_address(p);
	spin_unlock(&page_lock);
	if (c->n > 0)
		return c->page[--c->n];
	return c->nzero > 0 ? c->zero[--c->nzero] : NULL;
}

/* Give back all but keep pages of a cache. Level raised. */
static __attribute__((noinline)) void
cache_drain(struct cache *c, size_t keep)
{
	spin_lock(&page_lock);
	while (c->n > keep)
		block_put(page_of(c->page[--c->n]), 0);
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
	unsigned long sie = level_raise(LEVEL1_MASK);
	struct cache *c = this_cache();
	void *page = c->n > 0 ? c->page[--c->n] : cache_refill(c);

	level_lower(sie);
	if (page == NULL)
		return kstack_reclaim() ? page_alloc() : NULL;
	page_of(page)->refs = 1;
	return page;
}

void *
page_alloc_zero(void)
{
	unsigned long sie = level_raise(LEVEL1_MASK);
	struct cache *c = this_cache();
	void *page = c->nzero > 0 ? c->zero[--c->nzero] : NULL;

	level_lower(sie);
	if (page == NULL) {
		page = page_alloc();
		return page == NULL ? NULL : memset(page, 0, PAGE_SIZE);
	}
	page_of(page)->refs = 1;
	return page;
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

	if (c->n == CACHE_MAX)
		cache_drain(c, CACHE_MAX - CACHE_BATCH);
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
	struct cache *c = this_cache();

	if (c->nzero < CACHE_ZERO) {
		page_of(page)->refs = 0;
		c->zero[c->nzero++] = page;
		page = NULL;
	}
	level_lower(sie);
	if (page != NULL)
		page_free(page);
}

/*
 * Before giving up: single pages in this hart's cache, and kernel stacks kept
 * for reuse, may be what keeps a block from being whole.
 */
static void
reclaim(void)
{
	unsigned long sie;
	struct cache *c;

	kstack_reclaim();
	sie = level_raise(LEVEL1_MASK);
	c = this_cache();
	cache_drain(c, 0);
	while (c->nzero > 0)
		c->page[c->n++] = c->zero[--c->nzero];
	cache_drain(c, 0);
	level_lower(sie);
}

static struct page *
block_alloc(unsigned int order)
{
	struct page *p;

	spin_lock(&page_lock);
	p = block_take(order);
	spin_unlock(&page_lock);
	return p;
}

void *
pages_alloc(unsigned int order)
{
	struct page *p;

	if (order == 0)
		return page_alloc();
	if (order > ORDER_MAX)
		return NULL;
	p = block_alloc(order);
	if (p == NULL) {
		reclaim();
		p = block_alloc(order);
	}
	if (p == NULL)
		return NULL;
	p->refs = 1;
	return page_address(p);
}

void
pages_free(void *block, unsigned int order)
{
	struct page *p = page_of(block);

	if (order == 0) {
		page_free(block);
		return;
	}
	assert(p->refs == 1);
	p->refs = 0;
	spin_lock(&page_lock);
	block_put(p, order);
	spin_unlock(&page_lock);
}

size_t
page_count_free(void)
{
	size_t n = __atomic_load_n(&blocks_free, __ATOMIC_RELAXED);

	for (unsigned int i = 0; i < HART_MAX; i++)
		n += __atomic_load_n(&caches[i].n, __ATOMIC_RELAXED) +
		     __atomic_load_n(&caches[i].nzero, __ATOMIC_RELAXED);
	return n + kstack_reclaimable();
}

/* Pages in the caches don't count: the hart that wants one may not get it. */
bool
page_scarce(void)
{
	return __atomic_load_n(&blocks_free, __ATOMIC_RELAXED) < RESERVE;
}

size_t
page_count_total(void)
{
	return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

static uint64_t
round_down(uint64_t pa)
{
	return pa & ~(uint64_t)(PAGE_SIZE - 1);
}

static uint64_t
round_up(uint64_t pa)
{
	return round_down(pa + PAGE_SIZE - 1);
}

void
page_add(uint64_t start, uint64_t end)
{
	start = (round_down(start) - page_base) >> PAGE_SHIFT;
	end = (round_up(end) - page_base) >> PAGE_SHIFT;
	assert(end <= array_length);
	spin_lock(&page_lock);
	while (start < end) {
		unsigned int order = 0;

		/* The largest block that is aligned here and ends in time. */
		while (order < ORDER_MAX && !(start & 1UL << order) &&
		       start + (2UL << order) <= end)
			order++;
		block_put(&page_array[start], order);
		start += 1UL << order;
		total += 1UL << order;
	}
	spin_unlock(&page_lock);
}

void
page_init(uint64_t start, uint64_t end, uint64_t hole_start, uint64_t hole_end)
{
	uint64_t array, size;

	for (unsigned int i = 0; i <= ORDER_MAX; i++)
		list_init(&free_blocks[i]);
	start = round_up(start);
	end = round_down(end);
	if (hole_start == hole_end)
		hole_start = hole_end = end;
	hole_start = round_down(hole_start);
	hole_end = round_up(hole_end);

	/* Blocks are aligned in physical memory: so must the array's base. */
	page_base = start & ~(BLOCK_MAX - 1);
	array_length = (end - page_base) >> PAGE_SHIFT;
	size = round_up(array_length * sizeof(struct page));
	array = start;
	if (array + size > hole_start && array < hole_end)
		array = hole_end;
	page_array = pa_to_va(array);
	memset(page_array, 0, size);

	/* What neither the array nor the hole takes is free. */
	if (array == start) {
		page_add(start + size, hole_start);
		page_add(hole_end, end);
	} else {
		page_add(start, hole_start);
		page_add(hole_end + size, end);
	}
}
