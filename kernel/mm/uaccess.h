/* The only ways to touch a user's memory: uaccess.S. */
#ifndef KERNEL_UACCESS_H
#define KERNEL_UACCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * These may fault, and sleep until a page is there; so they are called at level
 * 0, without a spinlock, aspace.lock, or a mutex that comes after that in the
 * lock order. copy_in and copy_out return 0 or -EFAULT, when a part may have
 * been copied. copy_in_str returns the length without the NUL, -EFAULT, or
 * -ENAMETOOLONG if there is no NUL in size bytes.
 */
int copy_in(void *dst, uintptr_t user_src, size_t n);
int copy_out(uintptr_t user_dst, const void *src, size_t n);
ssize_t copy_in_str(char *dst, uintptr_t user_src, size_t size);
/* Add n to an aligned 16-bit counter, up to limit: its value, or -EFAULT. */
int count_user(uintptr_t counter, unsigned int n, unsigned int limit);
/* Set an aligned word to new if it has this value; *value becomes what it had.
 * 0 or -EFAULT. */
int exchange_user(uintptr_t word, uint32_t *value, uint32_t new);
/* For the sampler, or under a spinlock: read two words that are present. 0 or
 * -EFAULT. */
int peek(unsigned long dst[2], uintptr_t user_src);

/* If an access in [start, end) fails, the trap returns to fixup: uaccess.S. */
struct fault_entry {
	unsigned long start, end, fixup;
};

extern const struct fault_entry fault_table_start[], fault_table_end[];
extern char peek_fault[]; /* the fixup of an access that serves no fault */

#endif
