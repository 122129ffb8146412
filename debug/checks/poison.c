/*
 * Memory that nobody has is filled with one pattern, memory that somebody just
 * got with another. So a write after the free is found by the next who gets
 * the memory, and who forgets to clear what it got doesn't find zeroes.
 *
 * Pages that were never used have no pattern yet: a bit for each says so, or
 * booting would take long.
 */
#include "../checks.h"

#include <stdint.h>

#include "mm/page.h"
#include "print.h"

#define FREE  0xdeaddeaddeaddeadUL
#define FRESH 0xa5a5a5a5a5a5a5a5UL

#define MEMORY_MAX (4UL << 30) /* physical addresses of the direct map */

static uint32_t poisoned[MEMORY_MAX / PAGE_SIZE / 32]; /* atomic */

static void
fill(uint64_t *word, size_t bytes, uint64_t pattern)
{
	for (size_t i = 0; i < bytes / 8; i++)
		word[i] = pattern;
}

/* What starts at block, its first words skipped, is as it was filled. */
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

/* A block's first word links it to other free ones. */
void
check_block_freed(void *block, size_t size)
{
	uint64_t *word = block;
	size_t i = 1;

	while (i < size / 8 && word[i] == FREE)
		i++;
	if (i == size / 8)
		panic("freed twice: %p, %lu bytes", block, size);
	fill(word + 1, size - 8, FREE);
}

void
check_block_allocated(void *block, size_t size)
{
	check(block, size, 1);
	fill(block, size, FRESH);
}
