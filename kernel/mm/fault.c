/*
 * Page faults: a page of an address space is filled in when it is touched, and
 * one that is shared is copied when it is written.
 *
 * aspace_fault, at the end, is called for each page fault of user mode and of
 * the kernel's copies of user memory (by memory_fault), and by those who want
 * a page to be present beforehand (exec, profil). It holds as->lock throughout,
 * so two threads that fault on one page are served one after the other.
 *
 * A page that must be copied when it is written isn't marked as such: its
 * region may be written, but its page table entry lacks W. It was shared by a
 * fork, or is a page of the file itself, and the other side has a reference,
 * too. If no other reference is left by the time of the write, W is simply set.
 *
 * Which fault needs a flush of whom? An entry that becomes valid, or gains W,
 * needs none of other harts: one that remembers the old entry takes a fault,
 * comes here, finds nothing to do, and flushes its own TLB. An entry that
 * leads to another page does: harts that remember the old one would go on
 * reading the old page. And only then may it gain W: see fault_unshare.
 */
#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "base/riscv.h"
#include "sched/lock.h"

#include "aspace.h"
#include "page.h"
#include "region.h"
#include "table.h"

static void
region_touch(struct region *r, uintptr_t va)
{
	if (r->low == r->high)
		r->low = r->high = va;
	if (va < r->low)
		r->low = va;
	if (va + PAGE_SIZE > r->high)
		r->high = va + PAGE_SIZE;
}

/* A page for a program. NULL: no memory but the last reserve (page.h). */
static void *
user_page(void)
{
	return page_spare(1, LEFT_BY_FAULTS) ? page_alloc() : NULL;
}

/* A page for a program, with the first n bytes of another, then zeroes. */
static void *
page_copy(const void *from, size_t n)
{
	char *page = user_page();

	if (page != NULL) {
		memcpy(page, from, n);
		if (n < PAGE_SIZE)
			memset(page + n, 0, PAGE_SIZE - n);
	}
	return page;
}

/*
 * Find the page for va in r where r has bytes of its file: 0 and *page, with a
 * reference for the caller; or -EIO or -ENOMEM. It is either the file's own
 * page, in which case *flags loses W, unless r is shared; or a copy.
 *
 * There must be a copy if the page is about to be written. And in a region that
 * may be written, a page on which `filled` ends has to end with zeroes, so it
 * is copied at once. In one that can't be written nobody relies on the zeroes.
 */
static int
file_page(const struct region *r, uintptr_t va, bool write, void **page,
	  unsigned long *flags)
{
	size_t at = va - r->start;
	size_t n = r->filled - at < PAGE_SIZE ? r->filled - at : PAGE_SIZE;
	void *shared;
	int error;

	error = aspace_files.find_page(r, r->offset + at, &shared);
	/* Only want of memory is worth another try: see memory_fault. */
	if (error != 0)
		return error == -ENOMEM ? error : -EIO;
	if (r->shared) {
		*page = shared;
		return 0;
	}
	if (!write && (n == PAGE_SIZE || !(r->prot & PROT_W))) {
		*page = shared;
		*flags &= ~(unsigned long)PTE_W;
		return 0;
	}
	*page = page_copy(shared, n);
	page_free(shared);
	return *page == NULL ? -ENOMEM : 0;
}

/* Fill in the page at va, whose entry is empty. The caller holds as->lock. */
static int
fault_fill(struct aspace *as, struct region *r, uintptr_t va, pte_t *pte,
	   bool write)
{
	unsigned long flags = PTE_USER | r->prot;
	void *page;
	int error = 0;

	/* W without R is reserved in the privileged specification. */
	if (flags & PTE_W)
		flags |= PTE_R;
	if (r->vnode != NULL && va - r->start < r->filled)
		error = file_page(r, va, write, &page, &flags);
	else if ((page = user_page()) != NULL)
		memset(page, 0, PAGE_SIZE);
	else
		error = -ENOMEM;
	if (error != 0)
		return error;
	/*
	 * Instruction caches may have older contents of this memory. The flush
	 * comes before the entry: as soon as that is set, a thread on another
	 * hart may fetch from the page without a fault of its own.
	 */
	if (flags & PTE_X)
		aspace_flush_text(as);
	table_set(pte, pte_make(page, flags));
	as->resident++;
	return 0;
}

/*
 * The page at va may be written, but its entry lacks W: copy it if need be.
 *
 * A copy gets its W in two steps. Other harts may read the old page until they
 * have flushed. If one could store to the new page before that, by the new
 * entry, another would still read what was there before: even after it has
 * seen that the store is done. So the new entry lacks W until all have flushed.
 */
static int
fault_unshare(struct aspace *as, const struct region *r, uintptr_t va,
	      pte_t *pte)
{
	void *old = pte_page(*pte);
	void *page;

	/* The one reference is this entry's; only a fork could make others. */
	if (page_refs(old) == 1 || r->shared) {
		*pte |= PTE_W;
		tlb_flush_page(va);
		return 0;
	}
	page = page_copy(old, PAGE_SIZE);
	if (page == NULL)
		return -ENOMEM;
	if (*pte & PTE_X) /* a program's own text: as for fault_fill */
		aspace_flush_text(as);
	table_set(pte, pte_make(page, *pte & PTE_FLAGS_MASK));
	aspace_flush(as);
	table_set(pte, *pte | PTE_W);
	tlb_flush_page(va);
	page_free(old);
	return 0;
}

/* Make the page at va, in r, accessible; r allows what prot asks for. */
static int
fault_in(struct aspace *as, struct region *r, uintptr_t va, int prot)
{
	bool write = prot == PROT_W;
	pte_t *pte;

	region_touch(r, va);
	pte = table_walk(as, va, true);
	if (pte == NULL)
		return -ENOMEM;
	if (*pte == 0)
		return fault_fill(as, r, va, pte, write);
	if (write && !(*pte & PTE_W))
		return fault_unshare(as, r, va, pte);
	/*
	 * The entry allows the access already: another thread was here first,
	 * or this hart still remembers what the entry was before. It may also
	 * remember that a whole table was missing. So it forgets everything:
	 * sfence.vma with an address only has to forget leaf entries.
	 */
	tlb_flush();
	return 0;
}

int
aspace_fault(struct aspace *as, uintptr_t va, int prot)
{
	struct region *r;
	int error = -EFAULT;

	mutex_lock(&as->lock);
	r = region_in(as, va, va + 1);
	if (r != NULL && !(r->prot & prot))
		error = -EACCES;
	else if (r != NULL)
		error = fault_in(as, r, page_round_down(va), prot);
	mutex_unlock(&as->lock);
	return error;
}
