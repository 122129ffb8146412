/*
 * Page tables, for the files of this folder.
 *
 * Sv39 has three levels of tables with 512 entries each. An entry of the root
 * stands for 1 GiB, one of the middle level for 2 MiB, one of a leaf table for
 * a page of 4 KiB. An entry with R, W or X ends the walk; one without leads to
 * the next table; 0 leads nowhere. One without V has a page to which all access
 * is forbidden. A (accessed) and D (dirty) are always set:
 * not every machine sets them by itself, some fault instead.
 *
 *	va:	| root index, 9 bits | middle, 9 | leaf, 9 | offset, 12 |
 */
#ifndef KERNEL_TABLE_H
#define KERNEL_TABLE_H

#include "aspace.h"
#include "pages.h"

#define TABLE_ENTRIES  512
#define SHIFT_ROOT     30 /* an entry stands for 1 << SHIFT_ bytes */
#define SHIFT_MIDDLE   21
#define SHIFT_LEAF     PAGE_SHIFT
#define PTE_PA_SHIFT   10
#define PTE_FLAGS_MASK 0x3ffUL

#define PTE_KERNEL (PTE_V | PTE_G | PTE_A | PTE_D)
#define PTE_USER   (PTE_V | PTE_U | PTE_A | PTE_D)

#define PAGE_ALIGNED __attribute__((aligned(PAGE_SIZE)))

/* The entry that leads to the page, or table, at va in the direct map. */
static inline pte_t
pte_make(const void *va, unsigned long flags)
{
	return va_to_pa(va) >> PAGE_SHIFT << PTE_PA_SHIFT | flags;
}

static inline void *
pte_page(pte_t pte)
{
	return pa_to_va(pte >> PTE_PA_SHIFT << PAGE_SHIFT);
}

static inline unsigned int
table_index(uintptr_t va, unsigned int shift)
{
	return va >> shift & (TABLE_ENTRIES - 1);
}

/*
 * Set an entry. The page or table that it leads to must be complete before
 * another hart's walk can find the entry: so this is a release. That is
 * enough, as no hart can access a page before its walk has read the entry.
 */
static inline void
table_set(pte_t *entry, pte_t pte)
{
	__atomic_store_n(entry, pte, __ATOMIC_RELEASE);
}

/* A new, empty table of as, to which entry will lead, or NULL for the root;
 * NULL: no memory. */
pte_t *table_alloc(struct aspace *as, pte_t *entry);
/* Free all tables of as. It maps nothing and isn't loaded on any hart. */
void table_free_all(struct aspace *as);

/*
 * The leaf entry for va. NULL: there is no leaf table; or, if create is set,
 * which makes missing tables, there is no memory.
 */
pte_t *table_walk(struct aspace *as, uintptr_t va, bool create);

/* Unmap and free the pages in [start, end), and leaf tables left empty. */
void table_unmap(struct aspace *as, uintptr_t start, uintptr_t end);

/*
 * Map in `to` all that `from` has mapped in [start, end), both without W. 0 or
 * -ENOMEM; in either case the caller must flush `from` afterwards.
 */
int table_share(struct aspace *to, struct aspace *from, uintptr_t start,
		uintptr_t end);

/*
 * Let the entries of [start, end) allow no more than prot; and no W that they
 * haven't got, as a page may have to be copied first. The caller must flush.
 */
void table_protect(struct aspace *as, uintptr_t start, uintptr_t end, int prot);
/* Move them to `to', where none are, and flush. 0; or -ENOMEM: none moved. */
int table_move(struct aspace *as, uintptr_t start, uintptr_t end, uintptr_t to);

/* Copy the kernel's entries to an address space's root, and take them out again
 * (ktable.c). */
void ktable_init_root(pte_t *root);
void ktable_clear_root(pte_t *root);
/* Set up the kernel stacks; returns the root entry for them (kstack.c). */
pte_t kstack_init(void);

/*
 * The next two (ktable.c) return when the harts concerned have flushed. The
 * caller is at level 0, unless no other hart is concerned.
 *
 * aspace_flush: all harts that have as loaded forget their translations. The
 * caller writes the new entry before the call, and frees the old page after it.
 */
void aspace_flush(struct aspace *as);
/* All harts forget all translations. */
void tlb_flush_all(void);

#endif
