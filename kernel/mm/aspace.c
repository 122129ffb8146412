/*
 * Address spaces: which address ranges a process may touch, and what each of
 * them contains.
 *
 * An address space is a list of regions and a set of page tables. A region
 * only says what its range means: zeroes or a part of a file, and which
 * accesses are allowed. Its pages are found when they are first touched
 * (fault.c), so mapping a program or growing the heap allocates no page. Each
 * region remembers the smallest range, [low, high), that includes every page
 * of it that was ever touched. Fork, brk and exit look at nothing else: of a
 * stack's 8 MiB, for example, only at the few pages that were used.
 *
 * Read aspace.h and table.h first; then this file, fault.c, table.c (page
 * tables), and ktable.c (what each hart has loaded, and how harts flush).
 *
 * as->lock comes before whatever a vnode's getpage takes (docs/locks.md).
 */
#include "aspace.h"

#include <errno.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/panic.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/level.h"
#include "sched/lock.h"

#include "kmalloc.h"
#include "page.h"
#include "table.h"

/* The heap is always region 0. It exists from the start, but empty. */
static struct region *
heap_of(struct aspace *as)
{
	return &as->region[0];
}

struct aspace *
aspace_create(void)
{
	struct aspace *as = NULL;

	if (page_spare(0, LEFT_BY_FORK))
		as = kmalloc(sizeof(*as));
	if (as == NULL)
		return NULL;
	list_init(&as->tables);
	as->ntables = 0;
	as->root = table_alloc(as);
	if (as->root == NULL) {
		kfree(as);
		return NULL;
	}
	ktable_init_root(as->root);
	as->going = false;
	as->harts = 0;
	as->lock = (struct mutex)MUTEX("aspace", as->lock);
	*heap_of(as) = (struct region){.prot = PROT_R | PROT_W};
	as->nregions = 1;
	as->brk = 0;
	as->size = as->resident = 0;
	return as;
}

struct aspace_files aspace_files;

static void
region_hold(const struct region *r)
{
	if (r->vnode == NULL)
		return;
	aspace_files.hold(r->vnode, r->prot & PROT_X);
}

static void
region_release(const struct region *r)
{
	if (r->vnode == NULL)
		return;
	aspace_files.release(r->vnode, r->prot & PROT_X);
}

/* elf.c relies on this check: the numbers come from a program's file. */
static bool
region_valid(const struct region *r)
{
	return r->start % PAGE_SIZE == 0 && r->end % PAGE_SIZE == 0 &&
	       r->start < r->end && r->end <= USER_TOP &&
	       (r->prot & (PROT_W | PROT_X)) != (PROT_W | PROT_X) &&
	       (r->vnode == NULL || r->offset % PAGE_SIZE == 0);
}

struct region *
aspace_region(struct aspace *as, uintptr_t start, uintptr_t end)
{
	/* Backwards: exec maps the stack last, and it is needed most often. */
	for (struct region *r = &as->region[as->nregions]; r-- > as->region;)
		if (r->start < end && start < r->end)
			return r;
	return NULL;
}

bool
aspace_writable(struct aspace *as, uintptr_t start, uintptr_t end)
{
	const struct region *r;

	mutex_lock(&as->lock);
	/* The range may extend over several regions that adjoin each other. */
	while (start < end && (r = aspace_region(as, start, start + 1)) &&
	       (r->prot & PROT_W))
		start = r->end;
	mutex_unlock(&as->lock);
	return start >= end;
}

/* Append a copy of r and return it. as->lock is held, or as is new. */
static struct region *
region_add(struct aspace *as, const struct region *r)
{
	struct region *new = &as->region[as->nregions++];

	*new = *r;
	region_hold(r);
	return new;
}

int
aspace_map(struct aspace *as, const struct region *r)
{
	int error = 0;

	if (!region_valid(r))
		return -EINVAL;
	mutex_lock(&as->lock);
	if (aspace_region(as, r->start, r->end) != NULL) {
		error = -EINVAL;
	} else if (as->nregions == REGION_MAX) {
		error = -ENOMEM;
	} else {
		struct region *new = region_add(as, r);

		new->low = new->high = r->start; /* nothing touched yet */
		as->size += r->end - r->start;
	}
	mutex_unlock(&as->lock);
	return error;
}

void
aspace_start_heap(struct aspace *as, uintptr_t start)
{
	heap_of(as)->start = heap_of(as)->end = start;
	as->brk = start;
}

/*
 * Nothing is allocated: the pages are only promised. One call can't promise
 * more pages than are free at the moment, but several calls can. What happens
 * when a promised page can't be found is decided in proc/memory.c.
 */
static int
heap_grow(struct aspace *as, uintptr_t end)
{
	struct region *heap = heap_of(as);
	size_t more = end - heap->end;

	if (aspace_region(as, heap->end, end) != NULL ||
	    !page_spare(more / PAGE_SIZE, LEFT_BY_PROGRAMS))
		return -ENOMEM;
	heap->end = end;
	as->size += more;
	return 0;
}

static void
heap_shrink(struct aspace *as, uintptr_t end)
{
	struct region *heap = heap_of(as);
	uintptr_t from = end > heap->low ? end : heap->low;

	if (from < heap->high) {
		table_unmap(as, from, heap->high);
		heap->high = from;
	}
	as->size -= heap->end - end;
	heap->end = end;
}

int
aspace_set_brk(struct aspace *as, uintptr_t brk)
{
	uintptr_t end = page_round_up(brk);
	int error = 0;

	if (brk > USER_TOP)
		return -ENOMEM;
	mutex_lock(&as->lock);
	if (brk < heap_of(as)->start)
		error = -ENOMEM;
	else if (end > heap_of(as)->end)
		error = heap_grow(as, end);
	else if (end < heap_of(as)->end)
		heap_shrink(as, end);
	if (error == 0)
		as->brk = brk;
	mutex_unlock(&as->lock);
	return error;
}

/*
 * The caller holds as->lock; child is new and needs no lock. The copy of the
 * parent's heap replaces the empty one that aspace_create made.
 */
static int
fork_regions(struct aspace *child, struct aspace *as)
{
	int error = 0;

	child->nregions = 0;
	for (unsigned int i = 0; i < as->nregions && error == 0; i++) {
		const struct region *r = region_add(child, &as->region[i]);

		error = table_share(child, as, r->low, r->high);
	}
	return error;
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
	child->brk = as->brk;
	child->size = as->size;
	child->text = as->text;
	child->text_offset = as->text_offset;
	child->frameless = as->frameless;
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
		aspace_free(child);
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

/* Nobody else knows as by now, so its lock isn't taken. */
void
aspace_free(struct aspace *as)
{
	as->going = true;
	aspace_unload(as);
	for (unsigned int i = 0; i < as->nregions; i++) {
		const struct region *r = &as->region[i];

		if (r->low < r->high)
			table_unmap(as, r->low, r->high);
		region_release(r);
	}
	assert(as->resident == 0);
	table_free_all(as);
	kfree(as);
}
