/* An address space's regions, for the files of this folder. The caller holds
 * as->lock, or nobody else knows as. */
#ifndef KERNEL_REGION_H
#define KERNEL_REGION_H

#include "aspace.h"

/* At first as has none. */
void region_init(struct aspace *as);
/* The last one with a byte of [start, end), or NULL. */
struct region *region_in(struct aspace *as, uintptr_t start, uintptr_t end);
/* The one after r, by address; NULL: it is the last. */
struct region *region_next(struct aspace *as, struct region *r);
/* Add a copy of r as it is, where no other region is; NULL: no memory. */
struct region *region_copy(struct aspace *as, const struct region *r);
/* The same where all others are higher: none makes room for it. */
struct region *region_copy_below(struct aspace *as, const struct region *r);
/* Add what r says, of which no page was touched, likewise. It becomes a part of
 * its neighbours if they mean the same. 0 or -ENOMEM. */
int region_add(struct aspace *as, const struct region *r);
/* Let no region extend over an address: 0 or -ENOMEM. */
int region_split(struct aspace *as, uintptr_t at);
/* Unmap [start, end), and leave no region there: 0; or -ENOMEM, and nothing was
 * done. That can't be when a region's last part is cut off, or all of it. */
int region_clear(struct aspace *as, uintptr_t start, uintptr_t end);
/* Make one of r and the region behind it, if both mean the same. */
void region_merge(struct aspace *as, struct region *r);
/* The same for all that touch [start, end). */
void region_join(struct aspace *as, uintptr_t start, uintptr_t end);
/* Take r, of which no page is mapped, out of as, and release its file. */
void region_remove(struct aspace *as, struct region *r);
/* The same for one of an address space that is being freed. */
void region_free(struct aspace *as, struct region *r);

#endif
