/* The stacks that threads have in the kernel: kstack.c. */
#ifndef KERNEL_KSTACK_H
#define KERNEL_KSTACK_H

#define KSTACK_MAX 1024 /* stacks, so threads, in the whole system */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new stack's top, or 0. At level 0, as all harts may have to flush. */
uintptr_t kstack_alloc(void);
/* The caller must not run on that stack. */
void kstack_free(uintptr_t top);
/* Free the pages of stacks that are kept for reuse; and how many those are. */
bool kstack_reclaim(void);
size_t kstack_reclaimable(void);

#endif
