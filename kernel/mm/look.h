/* Looking at an address space from outside: look.c. The caller has a reference
 * to it. */
#ifndef KERNEL_LOOK_H
#define KERNEL_LOOK_H

#include "aspace.h"

/* Copy to *out the first region that ends above `from', if there is one. If it
 * has a vnode, aspace_files.release(out) is still to be called. */
bool look_region(struct aspace *as, uintptr_t from, struct region *out);
/* Copy from va on what is there in memory; returns how many bytes. */
size_t look_bytes(struct aspace *as, uintptr_t va, void *buf, size_t size);

#endif
