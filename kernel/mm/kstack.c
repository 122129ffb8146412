/*
 * Kernel stacks, in a window of addresses of their own.
 *
 *	slot n:  STACK_BASE + n * KSTACK_SLOT   the guard, never mapped
 *	                    + KSTACK_SIZE       the stack, four pages
 *
 * A stack that overflows runs into its guard, and the trap path can tell that
 * from the address alone: bit KSTACK_SHIFT of the stack pointer is 0 in a
 * guard. The window's page tables are static. That bounds the number of
 * threads, and a slot can be mapped without memory for tables.
 *
 * A slot belongs to a thread, or is on the pile `filled`, free but with its
 * pages, or on the pile `empty`, without. It takes time to unmap stacks and to
 * find memory for new ones, so a freed stack keeps its pages for the next
 * thread. They count as free memory: page_alloc calls kstack_reclaim.
 *
 * Harts may remember what a slot was mapped to, or that it wasn't mapped. And
 * any hart may access any thread's stack: a sleeping thread's timer, or its
 * place in a futex's list, is a variable on its stack. So when a slot gets its
 * pages, all harts flush before a thread gets the slot. When a slot loses its
 * pages nobody needs to flush: nobody accesses a stack that no thread has.
 */
#include "kstack.h"

#include "base/layout.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "sched/hart.h"
#include "sched/lock.h"

#include "aspace.h"
#include "page.h"
#include "table.h"

#define STACK_PAGES (KSTACK_SIZE / PAGE_SIZE)
#define SLOT_PAGES  (KSTACK_SLOT / PAGE_SIZE)
/* Stacks filled at once: the flush afterwards has to wait for all harts. */
#define AT_ONCE 8
#define TABLES  (KSTACK_MAX * SLOT_PAGES / TABLE_ENTRIES)

static pte_t stack_ptes[TABLES * TABLE_ENTRIES] PAGE_ALIGNED;
static pte_t stack_table[TABLE_ENTRIES] PAGE_ALIGNED;

/* The tops of stacks that no thread has. */
struct pile {
	unsigned int n;
	uintptr_t top[KSTACK_MAX];
};

static struct spinlock kstack_lock = SPINLOCK1("kstack");
static struct pile filled GUARDED_BY(kstack_lock);
static struct pile empty GUARDED_BY(kstack_lock);

/* Take a stack off the pile; returns its top, or 0: the pile is empty. */
static uintptr_t
pile_take(struct pile *p)
{
	uintptr_t top;

	spin_lock(&kstack_lock);
	top = p->n > 0 ? p->top[--p->n] : 0;
	spin_unlock(&kstack_lock);
	return top;
}

static void
pile_put(struct pile *p, uintptr_t top)
{
	spin_lock(&kstack_lock);
	p->top[p->n++] = top;
	spin_unlock(&kstack_lock);
}

/* The first of the page table entries of the stack that ends at top. */
static pte_t *
stack_entries(uintptr_t top)
{
	return &stack_ptes[(top - KSTACK_SIZE - STACK_BASE) >> PAGE_SHIFT];
}

/* Unmap and free a stack's pages, of which there may be fewer than four. */
static void
stack_empty(uintptr_t top)
{
	pte_t *pte = stack_entries(top);

	for (unsigned int i = 0; i < STACK_PAGES && pte[i] != 0; i++) {
		void *page = pte_page(pte[i]);

		pte[i] = 0;
		page_free(page);
	}
}

/* Give a stack its pages; false: no memory. All harts must flush after it. */
static bool
stack_fill(uintptr_t top)
{
	pte_t *pte = stack_entries(top);

	for (unsigned int i = 0; i < STACK_PAGES; i++) {
		void *page = page_alloc();

		if (page == NULL) {
			stack_empty(top);
			return false;
		}
		pte[i] = pte_make(page, PTE_KERNEL | PTE_R | PTE_W);
	}
	return true;
}

/*
 * The stacks of the other harts' idle threads and of the first process, nharts
 * in all, are filled here. They need no flush, as no hart has loaded these
 * tables yet. And kstack_alloc couldn't have filled them later: it waits for
 * all harts to flush, and the others don't run before they have their stacks.
 */
pte_t
kstack_init(void)
{
	for (unsigned int i = 0; i < TABLES; i++)
		stack_table[i] = pte_make(&stack_ptes[i * TABLE_ENTRIES],
					  PTE_V);
	for (uintptr_t slot = KSTACK_MAX; slot > 0; slot--) {
		uintptr_t top = STACK_BASE + slot * KSTACK_SLOT;
		bool full = slot <= nharts && stack_fill(top);

		pile_put(full ? &filled : &empty, top);
	}
	return pte_make(stack_table, PTE_V);
}

uintptr_t
kstack_alloc(void)
{
	uintptr_t top = pile_take(&filled), full[AT_ONCE];
	unsigned int n = 0;

	if (top != 0)
		return top;
	while (n < AT_ONCE && (top = pile_take(&empty)) != 0) {
		if (!stack_fill(top)) {
			pile_put(&empty, top);
			break;
		}
		full[n++] = top;
	}
	if (n == 0)
		return 0;
	tlb_flush_all();
	while (n > 1)
		pile_put(&filled, full[--n]);
	return full[0];
}

void
kstack_free(uintptr_t top)
{
	assert(top % KSTACK_SLOT == 0);
	pile_put(&filled, top);
}

bool
kstack_reclaim(void)
{
	bool any = false;
	uintptr_t top;

	while ((top = pile_take(&filled)) != 0) {
		stack_empty(top);
		pile_put(&empty, top);
		any = true;
	}
	return any;
}

size_t
kstack_reclaimable(void)
{
	return __atomic_load_n(&filled.n, __ATOMIC_RELAXED) * STACK_PAGES;
}
