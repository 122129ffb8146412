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

#include "../checks.h"

#define FREE  0xdeaddeaddeaddeadUL /* of freed memory */
#define FRESH 0xa5a5a5a5a5a5a5a5UL /* of newly allocated memory */

#define MEMORY_MAX (4UL << 30) /* physical addresses of the direct map */

/* The last bytes of a small block. Between these and what its user asked for
 * the pattern FRESH stays. */
struct block_end {
	size_t size; /* that was asked for */
	void *pc;    /* by the call at pc */
};

_Static_assert(sizeof(struct block_end) == CHECK_ROOM, "block_end");

static uint32_t poisoned[MEMORY_MAX / PAGE_SIZE / 32]; /* atomic */

static void
fill(uint64_t *word, size_t bytes, uint64_t pattern)
{
	for (size_t i = 0; i < bytes / 8; i++)
		word[i] = pattern;
}

/* Panic if a word isn't FREE. The first `skip' words may have any value. */
static void
check(const uint64_t *block, size_t bytes, size_t skip)
{
	for (size_t i = skip; i < bytes / 8; i++)
		if (block[i] != FREE)
			panic("written after free: 0x%lx, %lu bytes into the "
			      "%lu at %p",
			      block[i], i * 8, bytes, (const void *)block);
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
			check((uint64_t *)page, PAGE_SIZE, 0);
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
	*end_of(block, all) = (struct block_end){size, pc};
}

/* A write past the end may have hit block_end, too: then its size, if that
 * still makes sense, is too large for the block, or pc has no name. */
static void
check_end(const char *block, size_t all, const struct block_end *end)
{
	size_t i = end->size;

	while (i < all - CHECK_ROOM && block[i] == (char)FRESH)
		i++;
	if (i != all - CHECK_ROOM)
		panic("written past the end: byte %lu of the %lu at %p, "
		      "allocated at %s",
		      i, end->size, (const void *)block,
		      symbol_place(end->pc).text);
}

/*
 * The first word is left out, as the allocator uses it to link free blocks. If
 * all others have the pattern already, the block has been freed before: it
 * would have been filled with FRESH when it was allocated. The caller holds the
 * lock of the block's class.
 */
void
check_block_freed(void *block, size_t size)
{
	uint64_t *word = block;
	size_t i = 1;

	while (i < size / 8 && word[i] == FREE)
		i++;
	if (i == size / 8)
		panic("freed twice: %p, %lu bytes", block, size);
	check_end(block, size, end_of(block, size));
	fill(word + 1, size - 8, FREE);
}

/* The block has been free before. (A block that has never been allocated has
 * what check_pages_allocated left there.) */
void
check_block_allocated(void *block, size_t size)
{
	check(block, size, 1);
	fill(block, size, FRESH);
}
