/*
 * Page tables, for the files of this folder.
 *
 * Sv39 has three levels of tables with 512 entries each: the root's entries
 * stand for 1 GiB, the next level's for 2 MiB, a leaf table's for a page. An
 * entry with R, W or X ends the walk; one without points to the next table.
 * A and D are always set: not every machine sets them by itself.
 *
 * An address space has a list of its tables, root and all, by their struct
 * page.
 */
#ifndef KERNEL_TABLE_H
#define KERNEL_TABLE_H

#include "page.h"

#define TABLE_ENTRIES  512
#define SHIFT_ROOT     30 /* an entry stands for 1 << these bytes */
#define SHIFT_MIDDLE   21
#define SHIFT_LEAF     PAGE_SHIFT
#define PTE_PA_SHIFT   10
#define PTE_FLAGS_MASK 0x3ffUL

#define PTE_KERNEL (PTE_V | PTE_G | PTE_A | PTE_D)
#define PTE_USER   (PTE_V | PTE_U | PTE_A | PTE_D)

#define PAGE_ALIGNED __attribute__((aligned(PAGE_SIZE)))

/* The entry for the page (or table) at va, with the given flags. */
static inline pte_t
pte_make(const void *va, unsigned long flags)
{
	return va_to_pa(va) >> PAGE_SHIFT << PTE_PA_SHIFT | flags;
}

/* The page, or table, that an entry leads to. */
static inline void *
pte_page(pte_t pte)
{
	return pa_to_va(pte >> PTE_PA_SHIFT << PAGE_SHIFT);
}

/* Which entry of its table stands for va, at the level of the shift. */
static inline unsigned int
table_index(uintptr_t va, unsigned int shift)
{
	return va >> shift & (TABLE_ENTRIES - 1);
}

/*
 * Set an entry: what it leads to is complete before a hart can find it. A
 * release is enough for that, as no hart can access a page before its walk has
 * read the entry.
 */
static inline void
table_set(pte_t *entry, pte_t pte)
{
	__atomic_store_n(entry, pte, __ATOMIC_RELEASE);
}

/* An empty table of as's, or NULL. */
pte_t *table_alloc(struct aspace *as);
/* Free all tables of as, which maps nothing and isn't loaded anywhere. */
void table_free_all(struct aspace *as);

/*
 * The leaf entry for va. With create, missing tables are made, NULL: no
 * memory; else NULL: there is no leaf table.
 */
pte_t *table_walk(struct aspace *as, uintptr_t va, bool create);

/* Unmap and free as's pages in [start, end), and leaf tables that are empty
 * then. */
void table_unmap(struct aspace *as, uintptr_t start, uintptr_t end);

/*
 * Give `to` all that `from` has mapped in [start, end), both without the
 * right to write. The caller then flushes from's translations. 0 or -ENOMEM.
 */
int table_share(struct aspace *to, struct aspace *from, uintptr_t start,
		uintptr_t end);

/* A region that has any of [start, end), or NULL (aspace.c). Under as->lock. */
struct region *region_find(struct aspace *as, uintptr_t start, uintptr_t end);

/* Copy the kernel's entries to an address space's root (ktable.c). */
void root_init(pte_t *root);
/* The kernel's root entry for the window of stacks (kstack.c). */
pte_t kstack_init(void);

/*
 * Forget all that harts have cached of as. An entry that was changed is written
 * before the call, and the old page freed after it.
 */
void aspace_flush(struct aspace *as);
/* The same for the instructions that they have fetched. A page of text is
 * complete before the call, and mapped after it. */
void aspace_flush_text(struct aspace *as);
/* All harts forget all translations. Interrupts are on. */
void tlb_flush_all(void);

#endif
