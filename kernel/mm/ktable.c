/*
 * The kernel's own page tables, which tables each hart has loaded, and how a
 * hart makes others flush what they remember of them.
 *
 *	root entry 507       kernel stacks (kstack.c)
 *	           508, 509  physical 0 to 2 GiB, devices: 1 GiB leaves
 *	           510       2 to 3 GiB, the kernel and RAM: 2 MiB leaves, but
 *	                     4 KiB ones for the 2 MiB where the kernel starts,
 *	                     which hold its text and read-only data
 *	           511       3 to 4 GiB: a 1 GiB leaf
 *
 * All leaf entries are global, and none is both writable and executable. Every
 * address space's root has a copy of these five entries, which never change, so
 * the tables below them are the same everywhere, and a trap can enter the
 * kernel without a change of page table.
 *
 * A hart's TLB and instruction cache forget only when the hart itself executes
 * a fence. So a hart that changes an entry has to interrupt the others that may
 * remember it (as->harts), and wait until they have flushed. docs/locks.md
 * ("What all harts must have forgotten") has a litmus test for each step, by
 * the names that are given below: join, leave, flush-asked, flush-done.
 */
#include "base/layout.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"

#include "aspace.h"
#include "table.h"

#define KERNEL_DATA (PTE_KERNEL | PTE_R | PTE_W)
#define GIGABYTE    0x80000000UL /* physical: where entry 510's begins */

pte_t kernel_root[TABLE_ENTRIES] PAGE_ALIGNED; /* boot/ loads it, too */
static pte_t kernel_middle[TABLE_ENTRIES] PAGE_ALIGNED; /* of entry 510.. */
static pte_t kernel_leaf[TABLE_ENTRIES] PAGE_ALIGNED;   /* ..its second entry */

/* What a hart has loaded when it runs no process. */
static struct aspace kernel_aspace = {.root = kernel_root};

/* What each hart has loaded; touched by that hart only, at a raised level. */
static struct aspace *loaded[HART_MAX];

static unsigned long
kernel_flags(const char *va)
{
	if (va < text_end)
		return PTE_KERNEL | PTE_R | PTE_X;
	if (va < rodata_end)
		return PTE_KERNEL | PTE_R;
	return KERNEL_DATA;
}

void
aspace_init(void)
{
	for (uint64_t i = 0; i < TABLE_ENTRIES - ROOT_DIRECT; i++)
		kernel_root[ROOT_DIRECT + i] = pte_make(
		    pa_to_va(i << SHIFT_ROOT), KERNEL_DATA);
	for (uint64_t i = 0; i < TABLE_ENTRIES; i++) {
		const char *small = text_start + (i << SHIFT_LEAF);

		kernel_middle[i] = pte_make(
		    pa_to_va(GIGABYTE + (i << SHIFT_MIDDLE)), KERNEL_DATA);
		kernel_leaf[i] = pte_make(small, kernel_flags(small));
	}
	kernel_middle[table_index(KERNEL_BASE, SHIFT_MIDDLE)] = pte_make(
	    kernel_leaf, PTE_V);
	kernel_root[table_index(KERNEL_BASE, SHIFT_ROOT)] = pte_make(
	    kernel_middle, PTE_V);
	kernel_root[ROOT_STACKS] = kstack_init();
	aspace_switch(NULL);
}

void
ktable_init_root(pte_t *root)
{
	for (unsigned int i = ROOT_STACKS; i < TABLE_ENTRIES; i++)
		root[i] = kernel_root[i];
}

void
ktable_clear_root(pte_t *root)
{
	for (unsigned int i = ROOT_STACKS; i < TABLE_ENTRIES; i++)
		root[i] = 0;
}

/* Without an address space number: so each switch has to flush. */
static unsigned long
satp_of(const struct aspace *as)
{
	return SATP_SV39 | va_to_pa(as->root) >> PAGE_SHIFT;
}

bool
aspace_is_loaded(const struct aspace *as)
{
	return csr_read(satp) == satp_of(as);
}

/*
 * The order of the steps:
 *
 * 1. Set this hart's bit in the new address space. From now on whoever changes
 *    an entry asks this hart to flush, and waits for it.
 * 2. Load the new root, and flush. A walk after this flush finds all entries
 *    that were changed by somebody who looked at `harts` before step 1, and
 *    who therefore didn't wait for this hart (join). Were the flush first, an
 *    entry changed between the two would be remembered, and nobody would ask
 *    this hart to forget it.
 * 3. Clear the bit in the old one: only now this hart neither uses its tables
 *    nor remembers any of its pages, and aspace_put may free them (leave).
 */
void
aspace_switch(struct aspace *as)
{
	unsigned int me = this_hart()->id;
	struct aspace *old = loaded[me];

	if (as == NULL)
		as = &kernel_aspace;
	if (as == old)
		return;
	__atomic_fetch_or(&as->harts, 1UL << me, __ATOMIC_SEQ_CST);
	csr_write(satp, satp_of(as));
	tlb_flush();
	icache_flush(); /* text may have been written by another hart */
	if (old != NULL)
		__atomic_fetch_and(&old->harts, ~(1UL << me), __ATOMIC_RELEASE);
	loaded[me] = as;
}

/*
 * A request doesn't say whether translations or text have changed, so both are
 * flushed. flush_asked counts the requests to this hart, flush_done how many of
 * them have been served. One flush serves all that were counted before it. What
 * the requesters stored before they counted is visible to the flush
 * (flush-asked), and what this hart loaded by way of the old entries comes
 * before it says that it's done (flush-done).
 */
void
tlb_serve(void)
{
	struct hart *h = this_hart();
	unsigned int asked = __atomic_load_n(&h->flush_asked, __ATOMIC_ACQUIRE);

	if (asked == h->flush_done)
		return;
	tlb_flush();
	icache_flush();
	__atomic_store_n(&h->flush_done, asked, __ATOMIC_RELEASE);
}

/*
 * Have the harts of a set (bit n: hart number n) flush: first all are asked,
 * then all are waited for. asked[i] is the number of the request to hart i;
 * counts wrap around, hence the signed difference.
 *
 * The request is an interrupt of the kernel's own, not the firmware's remote
 * fence: that one spins in M-mode until it's done, where no tick comes, and
 * under -icount QEMU might never run the hart that it waits for.
 *
 * The caller must be at level 0: were software interrupts masked, two harts
 * that ask each other could wait for ever.
 */
static void
flush_on(unsigned long set)
{
	unsigned int asked[HART_MAX];

	assert(!set || level_of(csr_read(sie)) == 0);
	for (unsigned int i = 0; set >> i != 0; i++) {
		if (!(set >> i & 1))
			continue;
		asked[i] = __atomic_add_fetch(&harts[i].flush_asked, 1,
					      __ATOMIC_ACQ_REL);
		hart_interrupt(&harts[i]);
	}
	for (unsigned int i = 0; set >> i != 0; i++)
		while ((set >> i & 1) &&
		       (int)(__atomic_load_n(&harts[i].flush_done,
					     __ATOMIC_ACQUIRE) -
			     asked[i]) < 0)
			clock_nap();
}

/* The set is read here, after the caller has changed the entries. */
static inline void
flush_harts(const unsigned long *set_at, void (*flush)(void))
{
	unsigned long set, saved = level_raise(LEVEL1_MASK);
	unsigned int me = this_hart()->id;

	/* A hart that joins the set later flushes, too: see aspace_switch. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	set = __atomic_load_n(set_at, __ATOMIC_RELAXED);
	if (set >> me & 1)
		flush();
	level_lower(saved);
	flush_on(set & ~(1UL << me));
}

void
aspace_flush(struct aspace *as)
{
	flush_harts(&as->harts, tlb_flush);
}

void
aspace_flush_text(struct aspace *as)
{
	flush_harts(&as->harts, icache_flush);
}

void
tlb_flush_all(void)
{
	const unsigned long all = (1UL << nharts) - 1;

	flush_harts(&all, tlb_flush);
}
