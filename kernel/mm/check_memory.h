/*
 * Checks of freed memory, for the debug build (check_memory.c): it must keep a
 * pattern until it is allocated again, when it gets another one. In the
 * ordinary build these expand to nothing (docs/testing.md). A check that fails
 * is a panic.
 */
#ifndef KERNEL_CHECK_MEMORY_H
#define KERNEL_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef CHECKS

/* `pages' are n pages in a row. The first word of a freed block is used by the
 * allocator and isn't checked. */
void check_pages_freed(void *pages, size_t n);
/* Of a page that is about to be freed as one of zeroes: it gets the pattern,
 * too, so this says that it won't be one. */
bool check_page_zero(const void *page);
void check_pages_allocated(void *pages, size_t n);
void check_block_freed(void *block, size_t all, void *pc);
void check_block_allocated(void *block, size_t all);
/* Of a block's `all' bytes the caller of kmalloc at pc gets only the first
 * `size'. The last CHECK_ROOM bytes remember both, and who freed it. */
#define CHECK_ROOM 16
void check_block_end(void *block, size_t all, size_t size, void *pc);

#else

#define check_pages_freed(pages, n)       ((void)0)
#define check_page_zero(page)             ((void)(page), true)
#define check_pages_allocated(pages, n)   ((void)0)
#define check_block_freed(b, all, pc)     ((void)(pc))
#define check_block_allocated(b, all)     ((void)0)
#define CHECK_ROOM                        0
#define check_block_end(b, all, size, pc) ((void)(pc))

#endif
#endif
