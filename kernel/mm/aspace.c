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

struct aspace *
aspace_create(void)
{
	struct aspace *as = page_scarce() ? NULL : kmalloc(sizeof(*as));

	if (as == NULL)
		return NULL;
	as->root = root_alloc();
	if (as->root == NULL) {
		kfree(as);
		return NULL;
	}
	as->refs = 1;
	as->harts = 0;
	mutex_init(&as->lock, "aspace");
	as->nregions = 0;
	as->heap_start = as->brk = 0;
	as->size = as->resident = 0;
	return as;
}

void
aspace_ref(struct aspace *as)
{
	__atomic_fetch_add(&as->refs, 1, __ATOMIC_RELAXED);
}

/* The index of the first region that ends above va. */
static unsigned int
region_above(const struct aspace *as, uintptr_t va)
{
	unsigned int i = 0;

	while (i < as->nregions && as->region[i].end <= va)
		i++;
	return i;
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

/* Put r, which fits there, in place i. The lock is held. */
static void
region_insert(struct aspace *as, unsigned int i, const struct region *r)
{
	for (unsigned int j = as->nregions++; j > i; j--)
		as->region[j] = as->region[j - 1];
	as->region[i] = *r;
	as->region[i].low = as->region[i].high = r->start;
	as->size += r->end - r->start;
	region_hold(r);
}

static bool
region_valid(const struct region *r)
{
	return r->start % PAGE_SIZE == 0 && r->end % PAGE_SIZE == 0 &&
	       r->start < r->end && r->end <= USER_TOP &&
	       (r->prot & (PROT_W | PROT_X)) != (PROT_W | PROT_X) &&
	       (r->vnode == NULL || r->offset % PAGE_SIZE == 0);
}

int
aspace_map(struct aspace *as, const struct region *r)
{
	unsigned int i;
	int error = 0;

	if (!region_valid(r))
		return -EINVAL;
	mutex_lock(&as->lock);
	i = region_above(as, r->start);
	if (i < as->nregions && as->region[i].start < r->end)
		error = -EINVAL;
	else if (as->nregions == REGION_MAX)
		error = -ENOMEM;
	else
		region_insert(as, i, r);
	mutex_unlock(&as->lock);
	return error;
}

/*
 * Move the heap's end up, from end to new_end, making its region if it had
 * none. Memory is only promised here, but never more than there is.
 */
static int
heap_grow(struct aspace *as, uintptr_t end, uintptr_t new_end)
{
	struct region heap = {
	    .start = end, .end = new_end, .prot = PROT_R | PROT_W};
	bool exists = end > page_round_up(as->heap_start);
	unsigned int i = region_above(as, end);
	uintptr_t limit = i < as->nregions ? as->region[i].start : USER_TOP;

	if (new_end > limit || page_scarce() ||
	    (new_end - end) / PAGE_SIZE > page_count_free())
		return -ENOMEM;
	if (exists) {
		as->region[i - 1].end = new_end;
		as->size += new_end - end;
		return 0;
	}
	if (as->nregions == REGION_MAX)
		return -ENOMEM;
	region_insert(as, i, &heap);
	return 0;
}

/* Move the heap's end down to new_end, and give back what was above. */
static void
heap_shrink(struct aspace *as, uintptr_t new_end)
{
	unsigned int i = region_above(as, new_end);
	struct region *heap = &as->region[i];

	if (heap->low < new_end && new_end < heap->high) {
		table_unmap(as, new_end, heap->high);
		heap->high = new_end;
	} else if (new_end <= heap->low) {
		table_unmap(as, heap->low, heap->high);
		heap->low = heap->high = heap->start;
	}
	as->size -= heap->end - new_end;
	heap->end = new_end;
	if (heap->start < new_end)
		return;
	/* Nothing is left of it. */
	as->nregions--;
	for (; i < as->nregions; i++)
		as->region[i] = as->region[i + 1];
}

int
aspace_set_brk(struct aspace *as, uintptr_t brk)
{
	uintptr_t end, new_end;
	int error = 0;

	if (brk < as->heap_start || brk > USER_TOP)
		return -ENOMEM;
	new_end = page_round_up(brk);
	mutex_lock(&as->lock);
	end = page_round_up(as->brk);
	if (new_end > end)
		error = heap_grow(as, end, new_end);
	else if (new_end < end)
		heap_shrink(as, new_end);
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

	for (unsigned int i = 0; i < as->nregions && error == 0; i++) {
		const struct region *r = &as->region[i];

		child->region[i] = *r;
		child->nregions++;
		region_hold(r);
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
	child->heap_start = as->heap_start;
	child->brk = as->brk;
	child->size = as->size;
	/* Whatever came of it, some pages may no longer be written; and no
	 * thread of the parent may write one while the child has it. */
	aspace_flush(as, 0, 0);
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
	if (__atomic_sub_fetch(&as->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	aspace_unload(as);
	for (unsigned int i = 0; i < as->nregions; i++) {
		const struct region *r = &as->region[i];

		table_unmap(as, r->low, r->high);
		region_release(r);
	}
	assert(as->resident == 0 && page_of(as->root)->used == 0);
	root_free(as->root);
	kfree(as);
}
