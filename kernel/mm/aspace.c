/*
 * Address spaces: which address ranges a process may touch, and what each of
 * them contains.
 *
 * An address space is a set of regions and of page tables. A region
 * only says what its range means: zeroes or a part of a file, and which
 * accesses are allowed. Its pages are found when they are first touched
 * (fault.c), so mapping a program or growing the heap allocates no page. Each
 * region remembers the smallest range, [low, high), that includes every page
 * of it that was ever touched. Fork, brk and exit look at nothing else: of a
 * stack's 8 MiB, for example, only at the few pages that were used.
 *
 * Read aspace.h and table.h first; then this file, region.c (which region is
 * where), fault.c, remap.c (what a running program changes), table.c (page
 * tables), and ktable.c (what each hart has loaded, and how harts flush).
 *
 * as->lock comes before whatever a vnode's getpage takes (docs/locks.md).
 */
#include "aspace.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/panic.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"

#include "kmalloc.h"
#include "page.h"
#include "region.h"
#include "table.h"

struct aspace *
aspace_create(void)
{
	struct aspace *as = NULL;

	if (page_spare(0, LEFT_BY_FORK))
		as = kmalloc(sizeof(*as));
	if (as == NULL)
		return NULL;
	/* first[] is set entry by entry, as they are used. */
	memset(as, 0, offsetof(struct aspace, first));
	list_init(&as->tables);
	as->root = table_alloc(as, NULL);
	if (as->root == NULL) {
		kfree(as);
		return NULL;
	}
	ktable_init_root(as->root);
	as->refs = 1;
	as->lock = (struct mutex)MUTEX("aspace", as->lock);
	region_init(as);
	return as;
}

/* elf.c relies on this check: the numbers come from a program's file. */
static bool
region_valid(const struct region *r)
{
	return r->start % PAGE_SIZE == 0 && r->end % PAGE_SIZE == 0 &&
	       r->start < r->end && r->end <= USER_TOP &&
	       (!(r->prot & PROT_X) || r->end <= TEXT_TOP) &&
	       (r->prot & (PROT_W | PROT_X)) != (PROT_W | PROT_X) &&
	       (r->vnode == NULL || r->offset % PAGE_SIZE == 0);
}

bool
aspace_writable(struct aspace *as, uintptr_t start, uintptr_t end)
{
	const struct region *r;

	mutex_lock(&as->lock);
	/* The range may extend over several regions that adjoin each other. */
	while (start < end && (r = region_in(as, start, start + 1)) &&
	       (r->prot & PROT_W))
		start = r->end;
	mutex_unlock(&as->lock);
	return start >= end;
}

int
aspace_map(struct aspace *as, const struct region *r)
{
	int error = -EINVAL;

	if (!region_valid(r))
		return -EINVAL;
	mutex_lock(&as->lock);
	if (region_in(as, r->start, r->end) == NULL)
		error = region_add(as, r);
	mutex_unlock(&as->lock);
	return error;
}

void
aspace_start_heap(struct aspace *as, uintptr_t start)
{
	as->heap = as->brk = start;
}

/*
 * Nothing is allocated: the pages are only promised. One call can't promise
 * more pages than are free at the moment, but several calls can. What happens
 * when a promised page can't be found is decided in proc/memory.c.
 */
static int
heap_grow(struct aspace *as, uintptr_t from, uintptr_t end)
{
	const struct region more = {
	    .start = from,
	    .end = end,
	    .prot = PROT_R | PROT_W,
	};

	if (region_in(as, from, end) != NULL ||
	    !page_spare((end - from) / PAGE_SIZE, LEFT_BY_PROGRAMS))
		return -ENOMEM;
	return region_add(as, &more);
}

int
aspace_set_brk(struct aspace *as, uintptr_t brk)
{
	uintptr_t end = page_round_up(brk), before;
	int error = 0;

	if (brk > TEXT_TOP)
		return -ENOMEM;
	mutex_lock(&as->lock);
	before = page_round_up(as->brk);
	if (brk < as->heap)
		error = -ENOMEM;
	else if (end > before)
		error = heap_grow(as, before, end);
	else if (end < before)
		error = region_clear(as, end, before);
	if (error == 0)
		as->brk = brk;
	mutex_unlock(&as->lock);
	return error;
}

/* What is shared with a file is found there by the child, too. The caller holds
 * as->lock; child is new and needs no lock. */
static int
fork_regions(struct aspace *child, struct aspace *as)
{
	int error = 0;

	list_each_back(struct region, r, &as->regions, link)
	{
		struct region *copy = region_copy_below(child, r);

		if (copy == NULL)
			return -ENOMEM;
		if (r->shared)
			copy->low = copy->high = copy->start;
		else
			error = table_share(child, as, r->low, r->high);
		if (error != 0)
			return error;
	}
	return 0;
}

struct aspace *
aspace_fork(struct aspace *as)
{
	struct aspace *child = aspace_create();
	int error;

	if (child == NULL)
		return NULL;
	mutex_lock(&as->lock);
	error = fork_regions(child, as);
	child->heap = as->heap;
	child->brk = as->brk;
	child->size = as->size;
	child->text = as->text;
	child->text_offset = as->text_offset;
	child->frameless = as->frameless;
	child->args = as->args;
	child->env = as->env;
	/*
	 * table_share has taken W out of the parent's entries, but other harts
	 * may still have writable translations in their TLBs, and go on writing
	 * to pages that are now the child's, too. So all harts flush before the
	 * lock is released and the child is started; and also after an error,
	 * which comes when some entries have been changed.
	 */
	aspace_flush(as);
	mutex_unlock(&as->lock);
	if (error != 0) {
		aspace_put(child);
		return NULL;
	}
	return child;
}

/* Wait until no hart has as loaded. No thread of it runs in user mode now. */
static void
aspace_unload(struct aspace *as)
{
	unsigned long sie = level_raise(LEVEL1_MASK);

	if (__atomic_load_n(&as->harts, __ATOMIC_RELAXED) >> this_hart()->id &
	    1)
		aspace_switch(NULL);
	level_lower(sie);
	/* A hart keeps as loaded until it switches from a thread that left. */
	while (__atomic_load_n(&as->harts, __ATOMIC_ACQUIRE) != 0)
		clock_nap();
}

void
aspace_ref(struct aspace *as)
{
	__atomic_fetch_add(&as->refs, 1, __ATOMIC_RELAXED);
}

/* Nobody else knows as after the last one, so its lock isn't taken. */
void
aspace_put(struct aspace *as)
{
	if (__atomic_sub_fetch(&as->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	as->going = true;
	aspace_unload(as);
	list_each_safe (struct region, r, &as->regions, link) {
		if (r->low < r->high)
			table_unmap(as, r->low, r->high);
		region_free(as, r);
	}
	assert(as->resident == 0);
	table_free_all(as);
	kfree(as);
}
