/*
 * Free memory is filled with one pattern, newly allocated memory with another.
 * This finds three kinds of mistakes. If somebody writes to memory that is free
 * again, the pattern is damaged when it is allocated next. If somebody writes
 * past the end of a small block, what is behind it is damaged when the block is
 * freed. And code that uses new memory without clearing it doesn't happen to
 * find zeroes.
 *
 * The allocators call this: mm/page.c for pages, mm/kmalloc.c for small blocks.
 *
 * Pages that have never been used aren't filled, as that would make booting
 * slow. So for each page there is a bit, which says whether it has the pattern.
 */
#include <stdint.h>

#include "base/layout.h"
#include "base/panic.h"
#include "base/symbols.h"

#include "check_memory.h"

#define FREE  0xdeaddeaddeaddeadUL /* of freed memory */
#define FRESH 0xa5a5a5a5a5a5a5a5UL /* of newly allocated memory */

#define MEMORY_MAX (4UL << 30) /* physical addresses of the direct map */

/* The last bytes of a small block. Between these and what its user asked for
 * the pattern FRESH stays. */
struct block_end {
	void *allocated; /* by the call at this pc */
	union {
		size_t size; /* that was asked for */
		void *freed; /* if it is free: by the call at this pc */
	};
};

_Static_assert(sizeof(struct block_end) == CHECK_ROOM, "block_end");

static uint32_t poisoned[MEMORY_MAX / PAGE_SIZE / 32]; /* atomic */

static void
fill(uint64_t *word, size_t bytes, uint64_t pattern)
{
	for (size_t i = 0; i < bytes / 8; i++)
		word[i] = pattern;
}

/* The first word from `from' on that isn't FREE, or n. */
static size_t
find_written(const uint64_t *block, size_t from, size_t n)
{
	while (from < n && block[from] == FREE)
		from++;
	return from;
}

void
check_pages_freed(void *pages, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *page = (char *)pages + i * PAGE_SIZE;
		size_t bit = va_to_pa(page) / PAGE_SIZE;

		fill((uint64_t *)page, PAGE_SIZE, FREE);
		__atomic_fetch_or(&poisoned[bit / 32], 1U << bit % 32,
				  __ATOMIC_RELAXED);
	}
}

bool
check_page_zero(const void *page)
{
	const uint64_t *word = page;

	for (size_t i = 0; i < PAGE_SIZE / 8; i++)
		if (word[i] != 0)
			panic("freed as zeroed, but not zero: 0x%lx at byte "
			      "%lu of page %p",
			      word[i], i * 8, page);
	return false;
}

static void
check_page(const uint64_t *page)
{
	size_t i = find_written(page, 0, PAGE_SIZE / 8);

	if (i < PAGE_SIZE / 8)
		panic(
		    "written after free: 0x%lx, %lu bytes into the page at %p",
		    page[i], i * 8, (const void *)page);
}

void
check_pages_allocated(void *pages, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *page = (char *)pages + i * PAGE_SIZE;
		size_t bit = va_to_pa(page) / PAGE_SIZE;
		uint32_t mask = 1U << bit % 32;

		if (__atomic_fetch_and(&poisoned[bit / 32], ~mask,
				       __ATOMIC_RELAXED) &
		    mask)
			check_page((uint64_t *)page);
		fill((uint64_t *)page, PAGE_SIZE, FRESH);
	}
}

static struct block_end *
end_of(void *block, size_t all)
{
	return (struct block_end *)((char *)block + all - CHECK_ROOM);
}

void
check_block_end(void *block, size_t all, size_t size, void *pc)
{
	*end_of(block, all) = (struct block_end){.allocated = pc, .size = size};
}

/* A write past the end may have hit block_end, too: then its size, if that
 * still makes sense, is too large for the block, or the pc has no name. */
static void
check_end(const char *block, size_t all, const struct block_end *end)
{
	size_t i = end->size;

	while (i < all - CHECK_ROOM && block[i] == (char)FRESH)
		i++;
	if (i != all - CHECK_ROOM)
		panic("written past the end: at offset %lu of the %lu bytes "
		      "at %p, allocated at %s",
		      i, end->size, (const void *)block,
		      symbol_place(end->allocated).text);
}

/*
 * The first word is left out, as the allocator uses it to link free blocks. If
 * all others have the pattern already, the block has been freed before: it
 * would have been filled with FRESH when it was allocated. The caller holds the
 * lock of the block's class.
 */
void
check_block_freed(void *block, size_t all, void *pc)
{
	struct block_end *end = end_of(block, all);
	size_t n = (all - CHECK_ROOM) / 8;

	if (find_written(block, 1, n) == n)
		panic("freed twice: %p, allocated at %s, freed at %s and at %s",
		      block, symbol_place(end->allocated).text,
		      symbol_place(end->freed).text, symbol_place(pc).text);
	check_end(block, all, end);
	fill((uint64_t *)block + 1, (n - 1) * 8, FREE);
	end->freed = pc;
}

/* The block has been free before. (A block that has never been allocated has
 * what check_pages_allocated left there.) */
void
check_block_allocated(void *block, size_t all)
{
	const struct block_end *end = end_of(block, all);
	const uint64_t *word = block;
	size_t n = (all - CHECK_ROOM) / 8, i = find_written(word, 1, n);

	if (i < n)
		panic("written after free: 0x%lx, %lu bytes into the block at "
		      "%p, allocated at %s, freed at %s",
		      word[i], i * 8, block, symbol_place(end->allocated).text,
		      symbol_place(end->freed).text);
	fill(block, all, FRESH);
}
