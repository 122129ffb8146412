/*
 * What a running program changes in its address space: it maps, unmaps, moves
 * regions, and allows and forbids accesses. The system calls that ask for this
 * are in linux/mmap.c.
 *
 * Every range here is of whole pages, isn't empty, and ends at or below
 * USER_TOP: the callers have checked that. Each change is one step to other
 * threads, as all of it happens under as->lock. What a hart may remember of an
 * entry that has changed is flushed before the lock is released.
 */
#include <errno.h>

#include "base/layout.h"
#include "sched/lock.h"

#include "aspace.h"
#include "page.h"
#include "region.h"
#include "table.h"

/* May the region be where it says, whatever is there? */
static bool
place_good(const struct region *r)
{
	uintptr_t top = r->prot & PROT_X ? TEXT_TOP : USER_TOP;

	return r->start >= USER_BASE && r->start < r->end && r->end <= top;
}

/* Where a region of that size and those rights is put if nothing else is asked
 * for: a range as aspace_find returns it. Only what isn't executed may lie in
 * either half. */
static uintptr_t
find_place(struct aspace *as, size_t size, int prot, bool low)
{
	uintptr_t start = aspace_find(as, size, low || prot & PROT_X);

	if (start == 0 && !(prot & PROT_X))
		start = aspace_find(as, size, !low);
	return start;
}

int
aspace_place(struct aspace *as, struct region *r, enum placing place, bool low)
{
	size_t size = r->end - r->start;
	int error = 0;

	if (place != PLACE_HINT && !place_good(r))
		return -ENOMEM;
	mutex_lock(&as->lock);
	if (place == PLACE_HINT &&
	    (!place_good(r) || region_in(as, r->start, r->end) != NULL)) {
		r->start = find_place(as, size, r->prot, low);
		r->end = r->start + size;
		if (r->start == 0)
			error = -ENOMEM;
	} else if (place == PLACE_FIXED) {
		error = region_clear(as, r->start, r->end);
	} else if (region_in(as, r->start, r->end) != NULL) {
		error = -EEXIST;
	}
	if (error == 0)
		error = region_add(as, r);
	mutex_unlock(&as->lock);
	return error;
}

int
aspace_unmap(struct aspace *as, uintptr_t start, uintptr_t end)
{
	int error;

	mutex_lock(&as->lock);
	error = region_clear(as, start, end);
	mutex_unlock(&as->lock);
	return error;
}

/* 0 if regions cover all of [start, end) and may have the rights; -ENOMEM if
 * there is a gap, or if more could be written than before, and that has been
 * promised to others; -EACCES if they may not. */
static int
check_protect(struct aspace *as, uintptr_t start, uintptr_t end, int prot)
{
	const struct region *r;
	size_t more = 0;

	if (prot & PROT_X && end > TEXT_TOP)
		return -EACCES;
	while (start < end) {
		r = region_in(as, start, start + 1);
		if (r == NULL)
			return -ENOMEM;
		if (r->never & prot)
			return -EACCES;
		if (prot & ~r->prot & PROT_W)
			more += (r->end < end ? r->end : end) - start;
		start = r->end;
	}
	return more == 0 || page_spare(more / PAGE_SIZE, LEFT_BY_PROGRAMS)
		   ? 0
		   : -ENOMEM;
}

/*
 * Text that was stored by now must be found by all harts that fetch from it as
 * soon as an entry allows it: so fetched instructions are forgotten first, then
 * the entries change.
 */
static int
protect(struct aspace *as, uintptr_t start, uintptr_t end, int prot)
{
	int error = region_split(as, start);

	if (error == 0)
		error = region_split(as, end);
	if (error != 0)
		return error;
	if (prot & PROT_X)
		aspace_flush_text(as);
	for (struct region *r = region_in(as, start, start + 1);
	     r != NULL && r->start < end; r = region_next(as, r)) {
		r->prot = prot;
		table_protect(as, r->low, r->high, prot);
	}
	aspace_flush(as);
	return 0;
}

int
aspace_protect(struct aspace *as, uintptr_t start, uintptr_t end, int prot)
{
	int error;

	mutex_lock(&as->lock);
	error = check_protect(as, start, end, prot);
	if (error == 0)
		error = protect(as, start, end, prot);
	region_join(as, start, end);
	mutex_unlock(&as->lock);
	return error;
}

bool
aspace_covers(struct aspace *as, uintptr_t start, uintptr_t end)
{
	bool covers;

	mutex_lock(&as->lock);
	covers = check_protect(as, start, end, 0) == 0;
	mutex_unlock(&as->lock);
	return covers;
}

/* The pages of [start, end) that r has are dropped: it begins anew there. */
static void
discard(struct aspace *as, struct region *r, uintptr_t start, uintptr_t end)
{
	if (start < r->low)
		start = r->low;
	if (end > r->high)
		end = r->high;
	if (start >= end)
		return;
	table_unmap(as, start, end);
	if (start == r->low)
		r->low = end;
	else if (end == r->high)
		r->high = start;
}

void
aspace_discard(struct aspace *as, uintptr_t start, uintptr_t end)
{
	struct region *r;

	mutex_lock(&as->lock);
	while (start < end && (r = region_in(as, start, end)) != NULL) {
		discard(as, r, start, end);
		end = r->start;
	}
	mutex_unlock(&as->lock);
}

/* --- mremap --- */

/* Let the region that ends at `end` go on to new_end, if that is free. */
static int
grow(struct aspace *as, const struct region *r, uintptr_t new_end)
{
	struct region more = *r;

	more.start = r->end;
	more.end = new_end;
	if (!place_good(&more) || region_in(as, r->end, new_end) != NULL)
		return -ENOMEM;
	more.offset += r->end - r->start;
	more.filled = new_end - r->end;
	if (r->filled < r->end - r->start) {
		more.vnode = NULL; /* r ends with zeroes */
		more.filled = 0;
	}
	return region_add(as, &more);
}

/* Move all of r, pages and all, to where nothing is. */
static int
move(struct aspace *as, struct region *r, uintptr_t to, size_t size)
{
	struct region moved = *r, *new;
	int error;

	moved.start = to;
	moved.end = to + size;
	moved.low += to - r->start;
	moved.high += to - r->start;
	if (r->filled == r->end - r->start)
		moved.filled = size;
	new = region_copy(as, &moved);
	if (new == NULL)
		return -ENOMEM;
	as->size += size;
	error = table_move(as, r->low, r->high, moved.low);
	region_remove(as, error == 0 ? r : new);
	return error;
}

/* The same for a part of a region, which is cut out first. */
static int
move_part(struct aspace *as, uintptr_t start, uintptr_t end, uintptr_t to,
	  size_t size)
{
	int error = region_split(as, start);

	if (error == 0)
		error = region_split(as, end);
	if (error == 0)
		error = move(as, region_in(as, start, end), to, size);
	region_join(as, start, end);
	region_join(as, to, to + size);
	return error;
}

/* aspace_move at an address of the kernel's choice. */
static long
resize(struct aspace *as, struct region *r, const struct move *m)
{
	uintptr_t end = m->start + m->size, to;
	int error;

	if (m->new_size == m->size)
		return m->start;
	if (m->new_size < m->size)
		error = region_clear(as, m->start + m->new_size, end);
	else
		error = r->end == end ? grow(as, r, m->start + m->new_size)
				      : -ENOMEM;
	if (error == 0)
		return m->start;
	if (m->new_size < m->size || !m->may_move)
		return error;
	to = find_place(as, m->new_size, r->prot, m->start < TEXT_TOP);
	if (to == 0)
		return -ENOMEM;
	error = move_part(as, m->start, end, to, m->new_size);
	return error == 0 ? (long)to : error;
}

/* aspace_move to an address of the program's choice. What is there goes, and so
 * does what of the range is too much: that may cut r. */
static long
move_to(struct aspace *as, const struct region *r, const struct move *m)
{
	size_t size = m->size < m->new_size ? m->size : m->new_size;
	struct region target = *r;
	int error;

	target.start = m->to;
	target.end = m->to + m->new_size;
	if (!place_good(&target))
		return -ENOMEM;
	error = region_clear(as, target.start, target.end);
	if (error == 0 && size < m->size)
		error = region_clear(as, m->start + size, m->start + m->size);
	if (error == 0)
		error = move_part(as, m->start, m->start + size, m->to,
				  m->new_size);
	return error == 0 ? (long)m->to : error;
}

/* 0 if r is there for all that moves, its file's offsets go on to the new end,
 * and what can be written isn't promised to others. */
static int
check_move(const struct region *r, const struct move *m)
{
	if (r == NULL || r->end - m->start < m->size)
		return -EFAULT;
	if (r->vnode != NULL && r->offset + (off_t)(m->start - r->start) >
				    INT64_MAX - (off_t)m->new_size)
		return -EINVAL;
	if (r->prot & PROT_W && m->new_size > m->size &&
	    !page_spare((m->new_size - m->size) / PAGE_SIZE, LEFT_BY_PROGRAMS))
		return -ENOMEM;
	return 0;
}

long
aspace_move(struct aspace *as, const struct move *m)
{
	struct region *r;
	long result;

	mutex_lock(&as->lock);
	r = region_in(as, m->start, m->start + 1);
	result = check_move(r, m);
	if (result == 0)
		result = m->to != 0 ? move_to(as, r, m) : resize(as, r, m);
	mutex_unlock(&as->lock);
	return result;
}
