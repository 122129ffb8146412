/*
 * Page faults: a page of an address space is filled in when it is touched, and
 * one that is shared is copied when it is written.
 *
 * There is no mark for a shared page: it is one whose region may be written
 * but whose entry doesn't say so. It has other references, from other address
 * spaces or from the file it is a page of; if they have gone by the time of
 * the write, the page is this one's own.
 */
#include "table.h"

#include <errno.h>
#include <string.h>

#include "../fs/vfs.h"

/* Widen what is known to be touched of r by the page at va. */
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

/* The entry flags of a page of r that is the address space's own. What may be
 * written must be readable too: W alone means something else. */
static unsigned long
region_flags(const struct region *r)
{
	return PTE_USER | r->prot | (r->prot & PROT_W ? PTE_R : 0);
}

/* A new page with the first n bytes of another, then zeroes. NULL: no memory */
static void *
page_copy(const void *from, size_t n)
{
	char *page = page_alloc();

	if (page != NULL) {
		memcpy(page, from, n);
		if (n < PAGE_SIZE)
			memset(page + n, 0, PAGE_SIZE - n);
	}
	return page;
}

/*
 * The file's page for va in r, referenced: the page itself, and flags lose the
 * right to write, or a copy. A page that is about to be written, or only begins
 * with the file's bytes, is copied.
 */
static int
file_page(const struct region *r, uintptr_t va, bool write, void **page,
	  unsigned long *flags)
{
	size_t at = va - r->start;
	size_t n = r->filled - at < PAGE_SIZE ? r->filled - at : PAGE_SIZE;
	void *shared;
	int error;

	error = r->vnode->ops->getpage(r->vnode, r->offset + at, &shared);
	if (error != 0)
		return error == -ENOMEM ? error : -EFAULT;
	if (!write && (n == PAGE_SIZE || !(r->prot & PROT_W))) {
		*page = shared;
		*flags &= ~(unsigned long)PTE_W;
		return 0;
	}
	*page = page_copy(shared, n);
	page_free(shared);
	return *page == NULL ? -ENOMEM : 0;
}

/* Fill in the page at va, which wasn't there. */
static int
fault_fill(struct aspace *as, struct region *r, uintptr_t va, pte_t *pte,
	   bool write)
{
	unsigned long flags = region_flags(r);
	void *page;
	int error = 0;

	if (r->vnode != NULL && va - r->start < r->filled)
		error = file_page(r, va, write, &page, &flags);
	else if ((page = page_alloc_zero()) == NULL)
		error = -ENOMEM;
	if (error != 0)
		return error;
	/* Before the entry: a thread on another hart may find that, and fetch,
	 * without a fault of its own. */
	if (flags & PTE_X)
		aspace_flush_text(as);
	/* A hart that remembers the empty entry faults again, and finds it. */
	table_set(pte, pte_make(page, flags));
	as->resident++;
	return 0;
}

/* A page that is there is written, but the entry doesn't allow it. */
static int
fault_unshare(struct aspace *as, uintptr_t va, pte_t *pte)
{
	void *old = pte_page(*pte);
	void *page;

	if (page_refs(old) == 1) {
		*pte |= PTE_W;
		tlb_flush_page(va);
		return 0;
	}
	page = page_copy(old, PAGE_SIZE);
	if (page == NULL)
		return -ENOMEM;
	table_set(pte, pte_make(page, (*pte & PTE_FLAGS_MASK) | PTE_W));
	aspace_flush(as);
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
		return fault_unshare(as, va, pte);
	/* Another thread was here first, or this hart still remembers that
	 * there was nothing. It may remember so of a table, too; sfence.vma of
	 * an address is for leaves alone. */
	tlb_flush();
	return 0;
}

int
aspace_fault(struct aspace *as, uintptr_t va, int prot)
{
	struct region *r;
	int error = -EFAULT;

	mutex_lock(&as->lock);
	r = region_find(as, va, va + 1);
	if (r != NULL && (r->prot & prot))
		error = fault_in(as, r, page_round_down(va), prot);
	mutex_unlock(&as->lock);
	return error;
}
