/*
 * The regions of an address space: in a list, by address, to go from one to the
 * next; and in a binary tree, to find the one at an address.
 *
 * Every node of the tree is a region, the highest of all those below it. The
 * others are in branch 0 if the top bit of their address is 0, and in branch 1
 * if it is 1. So it goes on with the next bit at each level. For example, with
 * addresses of three bits:
 *
 *		  110			the highest
 *		 /   \			bit 2
 *	      010     101		the highest of each half
 *	      /				bit 1
 *	    001
 *
 * So no branch is longer than an address has bits, whatever a program maps,
 * and nothing has to be balanced. What is needed most often is found first: the
 * stack.
 *
 * Neighbours that mean the same are made one region. So a heap that grows by
 * small steps is one, and memory that is mapped piece by piece, too.
 */
#include "region.h"

#include <errno.h>

#include "base/layout.h"
#include "base/list.h"

#include "kmalloc.h"
#include "page.h"
#include "table.h"

#define TOP_BIT (USER_TOP >> 1)

struct aspace_files aspace_files;

void
region_init(struct aspace *as)
{
	list_init(&as->regions);
	as->top = as->spare = NULL;
	as->nregions = as->nfirst = 0;
}

/* --- The tree and the list --- */

/*
 * The last one that starts at or below va, or NULL. On the way down, those in a
 * branch 0 that is passed by all start below va. The highest of them is the
 * branch's first; and one that is passed later is higher.
 */
static struct region *
tree_find(struct aspace *as, uintptr_t va)
{
	struct region *r = as->top, *passed = NULL;

	for (uintptr_t bit = TOP_BIT; r != NULL && r->start > va; bit >>= 1) {
		if (va & bit && r->branch[0] != NULL)
			passed = r->branch[0];
		r = r->branch[(va & bit) != 0];
	}
	return r != NULL ? r : passed;
}

struct region *
region_in(struct aspace *as, uintptr_t start, uintptr_t end)
{
	struct region *r = tree_find(as, end - 1);

	return r != NULL && r->end > start ? r : NULL;
}

struct region *
region_next(struct aspace *as, struct region *r)
{
	return r->link.next == &as->regions
		   ? NULL
		   : container_of(r->link.next, struct region, link);
}

/* Each node that r is higher than makes room for it, and takes its place on
 * the way down. In the list r comes before `next'. */
static void
tree_insert(struct aspace *as, struct region *r, struct list *next)
{
	struct region **at = &as->top;

	list_append(next, &r->link);
	for (uintptr_t bit = TOP_BIT; *at != NULL; bit >>= 1) {
		struct region *lower = *at;

		if (lower->start < r->start) {
			r->branch[0] = lower->branch[0];
			r->branch[1] = lower->branch[1];
			*at = r;
			r = lower;
		}
		at = &(*at)->branch[(r->start & bit) != 0];
	}
	r->branch[0] = r->branch[1] = NULL;
	*at = r;
	as->nregions++;
}

/* The higher of the two below r takes its place, and so on down. */
static void
tree_unlink(struct aspace *as, struct region *r)
{
	struct region **at = &as->top, *up;

	for (uintptr_t bit = TOP_BIT; *at != r; bit >>= 1)
		at = &(*at)->branch[(r->start & bit) != 0];
	while ((up = r->branch[r->branch[1] != NULL]) != NULL) {
		struct region *branch[2] = {up->branch[0], up->branch[1]};

		*at = up;
		at = &up->branch[r->branch[1] != NULL];
		up->branch[0] = r->branch[0];
		up->branch[1] = r->branch[1];
		r->branch[0] = branch[0];
		r->branch[1] = branch[1];
	}
	*at = NULL;
	list_remove(&r->link);
	as->nregions--;
}

/* --- One region --- */

/* The first few lie in the address space itself, so that fork needs no memory
 * for them. NULL: no memory, or there are too many. */
static struct region *
region_alloc(struct aspace *as)
{
	struct region *r = as->spare;

	if (r != NULL) {
		as->spare = r->branch[0];
		return r;
	}
	if (as->nfirst < REGIONS_WITHIN)
		return &as->first[as->nfirst++];
	if (as->nregions >= REGIONS_MAX || !page_spare(0, LEFT_BY_FORK))
		return NULL;
	return kmalloc(sizeof(*r));
}

void
region_free(struct aspace *as, struct region *r)
{
	if (r->vnode != NULL)
		aspace_files.release(r);
	if (r >= as->first && r < as->first + REGIONS_WITHIN) {
		r->branch[0] = as->spare;
		as->spare = r;
	} else {
		kfree(r);
	}
}

/* A copy of r that is in no tree yet. NULL: no memory. */
static struct region *
region_again(struct aspace *as, const struct region *r)
{
	struct region *new = region_alloc(as);

	if (new == NULL)
		return NULL;
	*new = *r;
	if (r->vnode != NULL)
		aspace_files.hold(r);
	return new;
}

struct region *
region_copy(struct aspace *as, const struct region *r)
{
	struct region *new = region_again(as, r), *before;

	if (new == NULL)
		return NULL;
	before = tree_find(as, r->start);
	tree_insert(as, new,
		    before != NULL ? before->link.next : as->regions.next);
	return new;
}

struct region *
region_copy_below(struct aspace *as, const struct region *r)
{
	struct region *new = region_again(as, r);

	if (new != NULL)
		tree_insert(as, new, as->regions.next);
	return new;
}

void
region_remove(struct aspace *as, struct region *r)
{
	as->size -= r->end - r->start;
	tree_unlink(as, r);
	region_free(as, r);
}

/* Keep what was said of r, but only as far as it is about [start, end). A
 * region with no byte of its file left keeps that all the same. */
static void
region_clip(struct region *r, uintptr_t start, uintptr_t end)
{
	size_t before = start - r->start;

	r->offset += before;
	r->filled = r->filled > before ? r->filled - before : 0;
	if (r->filled > end - start)
		r->filled = end - start;
	r->low = r->low > start ? r->low : start;
	r->high = r->high < end ? r->high : end;
	if (r->low >= r->high)
		r->low = r->high = start;
	r->start = start;
	r->end = end;
}

int
region_split(struct aspace *as, uintptr_t at)
{
	struct region *r = region_in(as, at, at + 1), rest;

	if (r == NULL || r->start == at)
		return 0;
	rest = *r;
	region_clip(&rest, at, r->end);
	if (region_copy(as, &rest) == NULL)
		return -ENOMEM;
	region_clip(r, r->start, at);
	return 0;
}

/* Does b go on where a ends, with the same? */
static bool
region_goes_on(const struct region *a, const struct region *b)
{
	return a->end == b->start && a->prot == b->prot &&
	       a->never == b->never && a->shared == b->shared &&
	       a->text == b->text && a->vnode == b->vnode &&
	       (a->vnode == NULL ||
		(a->filled == a->end - a->start &&
		 b->offset == a->offset + (off_t)a->filled));
}

/* Let a extend over b, too, which goes on with it. */
static void
region_append(struct region *a, const struct region *b)
{
	if (a->low == a->high) {
		a->low = b->low;
		a->high = b->high;
	} else if (b->low < b->high) {
		a->high = b->high;
	}
	a->filled += b->filled;
	a->end = b->end;
}

void
region_merge(struct aspace *as, struct region *r)
{
	struct region *next = region_next(as, r);

	if (next == NULL || !region_goes_on(r, next))
		return;
	region_append(r, next);
	tree_unlink(as, next);
	region_free(as, next);
}

void
region_join(struct aspace *as, uintptr_t start, uintptr_t end)
{
	struct region *r = tree_find(as, start - 1), *next;

	if (r == NULL)
		r = tree_find(as, start);
	while (r != NULL && r->start <= end) {
		next = region_next(as, r);
		if (next != NULL && region_goes_on(r, next))
			region_merge(as, r);
		else
			r = next;
	}
}

int
region_add(struct aspace *as, const struct region *r)
{
	struct region *at = tree_find(as, r->start);

	if (at != NULL && region_goes_on(at, r)) {
		at->filled += r->filled;
		at->end = r->end;
	} else {
		at = region_copy(as, r);
		if (at == NULL)
			return -ENOMEM;
		at->low = at->high = at->start;
	}
	as->size += r->end - r->start;
	region_merge(as, at);
	return 0;
}

int
region_clear(struct aspace *as, uintptr_t start, uintptr_t end)
{
	int error = region_split(as, end);
	struct region *r;

	while (error == 0 && (r = region_in(as, start, end)) != NULL) {
		uintptr_t from = r->low > start ? r->low : start;

		if (from < r->high)
			table_unmap(as, from, r->high);
		if (r->start >= start) {
			region_remove(as, r);
		} else {
			as->size -= r->end - start;
			region_clip(r, r->start, start);
		}
	}
	return error;
}

uintptr_t
aspace_find(struct aspace *as, size_t size, bool low)
{
	uintptr_t bottom = low ? USER_BASE : TEXT_TOP;
	uintptr_t end = low ? FILES_TOP : USER_TOP;
	struct region *r = region_in(as, bottom, end);

	while (r != NULL && r->end > bottom &&
	       (r->end > end || end - r->end < size)) {
		end = r->start;
		r = tree_find(as, r->start - 1);
	}
	/* r ends at or below `end', and must leave room; or is NULL. */
	return end >= bottom && end - bottom >= size ? end - size : 0;
}
