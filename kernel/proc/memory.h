/* What happens when memory runs out: see memory.c. */
#ifndef KERNEL_MEMORY_H
#define KERNEL_MEMORY_H

#include <stdint.h>

struct kept;

/* The current process's count of pipe pages, referenced; NULL: no memory. */
struct kept *kept_get(void);
/*
 * Make va accessible to the current process, as aspace_fault does. If there is
 * no memory, the largest process is killed, and this waits for it. -ENOMEM: the
 * current process was killed itself, or there is nobody left to kill.
 */
int memory_fault(uintptr_t va, int prot);

#endif
