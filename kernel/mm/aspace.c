/*
 * Address spaces: which ranges a process may touch, and what is there.
 *
 * A region says what a range means; its pages are found when they are touched
 * (fault.c). Each region remembers the least range that holds every page of it
 * that ever was, so forking and freeing look at little else.
 *
 * Lock order: an aspace's lock, then whatever a vnode's getpage takes. A file
 * system doesn't hold those while it touches user memory.
 */
#include "table.h"

#include <errno.h>

#include "../clock.h"
#include "../fs/vfs.h"
#include "../print.h"
#include "../thread.h"

/* The heap has the first place. It is there from the start, if only empty. */
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
	root_init(as->root);
	as->going = false;
	as->harts = 0;
	as->lock = (struct mutex)MUTEX("aspace", as->lock);
	*heap_of(as) = (struct region){.prot = PROT_R | PROT_W};
	as->nregions = 1;
	as->brk = 0;
	as->size = as->resident = 0;
	return as;
}

/* A region holds a reference to its vnode, which isn't written to while it
 * is someone's text. */
static void
region_hold(const struct region *r)
{
	if (r->vnode == NULL)
		return;
	vnode_ref(r->vnode);
	if (r->prot & PROT_X)
		__atomic_fetch_add(&r->vnode->texts, 1, __ATOMIC_RELAXED);
}

static void
region_release(const struct region *r)
{
	if (r->vnode == NULL)
		return;
	if (r->prot & PROT_X)
		__atomic_fetch_sub(&r->vnode->texts, 1, __ATOMIC_RELAXED);
	vnode_put(r->vnode);
}

static bool
region_valid(const struct region *r)
{
	return r->start % PAGE_SIZE == 0 && r->end % PAGE_SIZE == 0 &&
	       r->start < r->end && r->end <= USER_TOP &&
	       (r->prot & (PROT_W | PROT_X)) != (PROT_W | PROT_X) &&
	       (r->vnode == NULL || r->offset % PAGE_SIZE == 0);
}

struct region *
region_find(struct aspace *as, uintptr_t start, uintptr_t end)
{
	/* The last is the stack, which is looked for most. */
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
	while (start < end && (r = region_find(as, start, start + 1)) &&
	       (r->prot & PROT_W))
		start = r->end;
	mutex_unlock(&as->lock);
	return start >= end;
}

/* Give as a copy of r. The lock is held, or as is new. */
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
	if (region_find(as, r->start, r->end) != NULL) {
		error = -EINVAL;
	} else if (as->nregions == REGION_MAX) {
		error = -ENOMEM;
	} else {
		struct region *new = region_add(as, r);

		new->low = new->high = r->start;
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

/* Move the heap's end up. Memory is only promised here, but never more than
 * there is. */
static int
heap_grow(struct aspace *as, uintptr_t end)
{
	struct region *heap = heap_of(as);
	size_t more = end - heap->end;

	if (region_find(as, heap->end, end) != NULL ||
	    !page_spare(more / PAGE_SIZE, LEFT_BY_PROGRAMS))
		return -ENOMEM;
	heap->end = end;
	as->size += more;
	return 0;
}

/* Move the heap's end down, and give back what was above. */
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

/* Copy regions and what is mapped in them to child, which is new. */
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
	child->frameless = as->frameless;
	/* Whatever came of it, some pages may no longer be written; and no
	 * thread of the parent may write one while the child has it. */
	aspace_flush(as);
	mutex_unlock(&as->lock);
	if (error != 0) {
		aspace_free(child);
		return NULL;
	}
	return child;
}

/* Make sure that no hart has as loaded any more. */
static void
aspace_unload(struct aspace *as)
{
	unsigned long sie = level_raise(LEVEL1_MASK);

	if (__atomic_load_n(&as->harts, __ATOMIC_RELAXED) >> this_hart()->id &
	    1)
		aspace_switch(NULL);
	level_lower(sie);
	/* Another hart may just be about to leave its last thread. */
	while (__atomic_load_n(&as->harts, __ATOMIC_ACQUIRE) != 0)
		clock_nap();
}

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
