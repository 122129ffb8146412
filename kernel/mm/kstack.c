/*
 * Kernel stacks, in a window of addresses of their own.
 *
 *	slot n:  STACK_BASE + n * KSTACK_SLOT   the guard, never mapped
 *	                    + KSTACK_SIZE       the stack, four pages
 *
 * A stack that overflows runs into its guard, and the trap path can tell that
 * from the address alone. The window's page tables are fixed, which bounds the
 * number of threads and lets a slot be mapped without looking for memory.
 *
 * Mapping and unmapping a stack concerns every hart, so freed stacks are kept
 * for the next fork. They count as free memory: kstack_reclaim gives them up
 * when pages run out.
 */
#include "table.h"

#include "../print.h"

#define KSTACK_MAX   1024 /* threads in the whole system */
#define KSTACK_CACHE 16   /* stacks kept for reuse */
#define STACK_PAGES  (KSTACK_SIZE / PAGE_SIZE)
#define SLOT_PAGES   (KSTACK_SLOT / PAGE_SIZE)
#define TABLES       (KSTACK_MAX * SLOT_PAGES / TABLE_ENTRIES)

static pte_t stack_ptes[TABLES * TABLE_ENTRIES] PAGE_ALIGNED;
static pte_t stack_table[TABLE_ENTRIES] PAGE_ALIGNED;

static struct spinlock kstack_lock = SPINLOCK1("kstack");
/* Under kstack_lock: */
static uintptr_t cache[KSTACK_CACHE]; /* tops of stacks kept for reuse */
static unsigned int ncached;
static uint16_t freed[KSTACK_MAX]; /* slots that were used before.. */
static unsigned int nfreed;
static unsigned int nfresh; /* ..and how many from the first on ever were */

pte_t
kstack_init(void)
{
	for (unsigned int i = 0; i < TABLES; i++)
		stack_table[i] = pte_make(&stack_ptes[i * TABLE_ENTRIES],
					  PTE_V);
	return pte_make(stack_table, PTE_V);
}

/* The first page table entry of the stack in a slot. */
static pte_t *
slot_ptes(unsigned int slot)
{
	return &stack_ptes[slot * SLOT_PAGES + SLOT_PAGES - STACK_PAGES];
}

static uintptr_t
slot_top(unsigned int slot)
{
	return STACK_BASE + (uintptr_t)(slot + 1) * KSTACK_SLOT;
}

/* The slot of the stack that ends at top. */
static unsigned int
slot_of(uintptr_t top)
{
	return (top - STACK_BASE) / KSTACK_SLOT - 1;
}

/* A slot that holds no stack; false: all are taken. kstack_lock held. */
static bool
slot_take(unsigned int *slot)
{
	if (nfreed > 0)
		*slot = freed[--nfreed];
	else if (nfresh < KSTACK_MAX)
		*slot = nfresh++;
	else
		return false;
	return true;
}

/*
 * Harts may remember what a slot was mapped to, or that it wasn't. Nobody
 * uses a stack's addresses but the thread that runs on it, and a hart forgets
 * all translations when it switches to a thread (aspace_switch), so no one
 * needs to be told.
 */

/* Unmap a slot, whose stack may be incomplete, and free its pages. */
static void
slot_empty(unsigned int slot)
{
	pte_t *pte = slot_ptes(slot);
	pte_t old[STACK_PAGES];

	for (unsigned int i = 0; i < STACK_PAGES; i++) {
		old[i] = pte[i];
		pte[i] = 0;
	}
	for (unsigned int i = 0; i < STACK_PAGES; i++)
		if (old[i] != 0)
			page_free(pte_page(old[i]));
	spin_lock(&kstack_lock);
	freed[nfreed++] = slot;
	spin_unlock(&kstack_lock);
}

/* Fill a slot with pages; its stack's top, or 0 and the slot is free again. */
static uintptr_t
slot_fill(unsigned int slot)
{
	pte_t *pte = slot_ptes(slot);

	for (unsigned int i = 0; i < STACK_PAGES; i++) {
		void *page = page_alloc();

		if (page == NULL) {
			slot_empty(slot);
			return 0;
		}
		pte[i] = pte_make(page, PTE_KERNEL | PTE_R | PTE_W);
	}
	return slot_top(slot);
}

uintptr_t
kstack_alloc(void)
{
	uintptr_t top = 0;
	unsigned int slot;
	bool found = false;

	spin_lock(&kstack_lock);
	if (ncached > 0)
		top = cache[--ncached];
	else
		found = slot_take(&slot);
	spin_unlock(&kstack_lock);
	return found ? slot_fill(slot) : top;
}

void
kstack_free(uintptr_t top)
{
	bool keep;

	assert(top % KSTACK_SLOT == 0);
	spin_lock(&kstack_lock);
	keep = ncached < KSTACK_CACHE;
	if (keep)
		cache[ncached++] = top;
	spin_unlock(&kstack_lock);
	if (!keep)
		slot_empty(slot_of(top));
}

bool
kstack_reclaim(void)
{
	bool any = false;

	for (;;) {
		uintptr_t top = 0;

		spin_lock(&kstack_lock);
		if (ncached > 0)
			top = cache[--ncached];
		spin_unlock(&kstack_lock);
		if (top == 0)
			return any;
		slot_empty(slot_of(top));
		any = true;
	}
}

size_t
kstack_reclaimable(void)
{
	return __atomic_load_n(&ncached, __ATOMIC_RELAXED) * STACK_PAGES;
}
