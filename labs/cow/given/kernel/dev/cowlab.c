/*
 * /dev/cow: what the calling process's copy on write has come to. A read gives
 * what cow.c has counted. By ioctls the tests map regions at addresses of their
 * own, look at the page behind an address, and let memory run short.
 */
#include <errno.h>

#include "base/layout.h"
#include "base/riscv.h"
#include "base/syscall.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/cow.h"
#include "mm/page.h"
#include "mm/table.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "cowlab.h"

/* The pages that COW_LEAVE has taken; each begins with the next one's address.
 * Only the tests use this, one at a time. */
static void *taken;

static const struct proc *failing; /* whose copies fail */
static bool in_fork;               /* those of its forks; or all others */
static unsigned long failures;     /* bit n: the nth from now on */

static bool
cowlab_fails(void)
{
	const struct trapframe *tf = &current->tf;
	bool fork = tf->scause == CAUSE_ECALL && tf->a7 == SYS_clone;
	bool fails = failures & 1;

	if (current->proc != failing || fork != in_fork)
		return false;
	failures >>= 1;
	return fails;
}

static int
map(struct aspace *as, uintptr_t arg)
{
	size_t pages = (arg & (PAGE_SIZE - 1)) >> 1;
	struct region r = {.start = page_round_down(arg), .prot = PROT_R};
	static bool odd;

	/* Neighbours that differ stay regions of their own. */
	odd = !odd;
	r.never = odd ? PROT_X : 0;
	r.end = r.start + pages * PAGE_SIZE;
	if (arg & COW_MAP_WRITE)
		r.prot |= PROT_W;
	return aspace_map(as, &r);
}

/* The page at an address, by its number, or how many share it. as->lock. */
static int
look(struct aspace *as, unsigned int cmd, uintptr_t va)
{
	const pte_t *pte = table_walk(as, va, false);
	void *page;

	if (pte == NULL || *pte == 0)
		return 0;
	page = pte_page(*pte);
	return cmd == COW_REFS ? page_refs(page) : va_to_pa(page) >> PAGE_SHIFT;
}

/* How many pages there are; unless all, in regions that may be written. The
 * caller holds as->lock. */
static int
present(struct aspace *as, bool all)
{
	int n = 0;

	list_each (struct region, r, &as->regions, link) {
		if (!all && !(r->prot & PROT_W))
			continue;
		for (uintptr_t va = r->low; va < r->high; va += PAGE_SIZE)
			n += look(as, COW_REFS, va) != 0;
	}
	return n;
}

/* Take pages until n are left; or give back all that were taken. */
static void
leave(size_t n)
{
	while (taken != NULL && page_count_free() < n) {
		void *page = taken;

		taken = *(void **)page;
		page_free(page);
	}
	while (page_count_free() > n) {
		void **page = page_alloc();

		if (page == NULL)
			return;
		*page = taken;
		taken = page;
	}
}

static int
cowlab_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	struct aspace *as = current->proc->as;
	int r = 0;

	switch (cmd) {
	case COW_MAP:
		return map(as, arg);
	case COW_FAIL:
	case COW_FAIL_FORK:
		failing = current->proc;
		in_fork = cmd == COW_FAIL_FORK;
		failures = arg;
		copy_fails = cowlab_fails;
		return 0;
	case COW_LEAVE:
		leave(arg);
		return 0;
	case COW_FREE:
		return page_count_free();
	case COW_REFS:
	case COW_PAGE:
		mutex_lock(&as->lock);
		r = look(as, cmd, arg);
		mutex_unlock(&as->lock);
		return r;
	case COW_PRESENT:
		mutex_lock(&as->lock);
		r = present(as, arg);
		mutex_unlock(&as->lock);
		return r;
	}
	return -ENOTTY;
}

static ssize_t
cowlab_read(struct vnode *, struct file *, struct uio *u)
{
	struct aspace *as = current->proc->as;
	unsigned long counts[COW_COUNTS];

	mutex_lock(&as->lock);
	cow_counts(as, counts);
	mutex_unlock(&as->lock);
	return uio_to(u, counts, sizeof(counts));
}

static const struct devfile files[] = {
    {.name = "cow", .mode = 0600},
    {0},
};

const struct device cow_device = {
    .files = files,
    .stream = true,
    .ops.read = cowlab_read,
    .ops.ioctl = cowlab_ioctl,
};
