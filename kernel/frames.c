/*
 * Walking a kernel stack, for panics and the sampler: bounded, and without
 * ever touching what isn't the stack's.
 */
#include "frames.h"

#include <stdbool.h>

#include "layout.h"

/*
 * May fp be the frame pointer of what called the function whose frame pointer
 * is `before`? Both are then in one stack's half of a slot (layout.h), and
 * grow. Anything may be in a register that isn't one, a user's s0 for one.
 */
static bool
is_frame(unsigned long fp, unsigned long before)
{
	unsigned long low = fp - 1; /* fp itself is just above the frame */
	bool in_window = low >= STACK_BASE && low < DIRECT_BASE;
	bool in_image = low >= (unsigned long)rodata_end &&
			low < (unsigned long)kernel_end;

	return (in_window || in_image) && fp % 16 == 0 && low >= before &&
	       (low & KSTACK_SIZE) &&
	       low >> KSTACK_SHIFT == before >> KSTACK_SHIFT;
}

/*
 * A frame holds the return address at fp - 8, the caller's fp at fp - 16; but
 * that of a function that calls no other holds the caller's fp at fp - 8.
 */
unsigned int
kernel_frames(unsigned long fp, unsigned long *pc, unsigned int max)
{
	unsigned long before = fp - 1;
	unsigned int n = 0;

	while (n < max && is_frame(fp, before)) {
		const unsigned long *frame = (const unsigned long *)fp;
		bool leaf = is_frame(frame[-1], fp);

		if (!leaf)
			pc[n++] = frame[-1];
		before = fp;
		fp = leaf ? frame[-1] : frame[-2];
	}
	return n;
}
