/* Looking at an address space from outside, for /proc. Whoever looks has a
 * reference to it: its process may end, or exec, meanwhile. */
#include "look.h"

#include <string.h>

#include "base/layout.h"
#include "base/list.h"
#include "sched/lock.h"

#include "page.h"
#include "region.h"
#include "table.h"

bool
look_region(struct aspace *as, uintptr_t from, struct region *out)
{
	struct region *r;

	mutex_lock(&as->lock);
	r = region_in(as, 0, from + 1);
	if (r != NULL && r->end <= from)
		r = region_next(as, r);
	else if (r == NULL && !list_empty(&as->regions))
		r = container_of(as->regions.next, struct region, link);
	if (r != NULL) {
		*out = *r;
		if (r->vnode != NULL)
			aspace_files.hold(r);
	}
	mutex_unlock(&as->lock);
	return r != NULL;
}

size_t
look_bytes(struct aspace *as, uintptr_t va, void *buf, size_t size)
{
	size_t done = 0;

	mutex_lock(&as->lock);
	while (done < size && va < USER_TOP) {
		const pte_t *pte = table_walk(as, va, false);
		size_t n = PAGE_SIZE - va % PAGE_SIZE;

		if (pte == NULL || !(*pte & PTE_V))
			break;
		if (n > size - done)
			n = size - done;
		memcpy((char *)buf + done,
		       (const char *)pte_page(*pte) + va % PAGE_SIZE, n);
		done += n;
		va += n;
	}
	mutex_unlock(&as->lock);
	return done;
}
