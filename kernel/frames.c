/*
 * Walking a kernel stack, for panics and the sampler: bounded, and without
 * ever touching what isn't the stack's.
 */
#include "frames.h"

#include "layout.h"

bool
frame_is(unsigned long fp, unsigned long before)
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

	while (n < max && frame_is(fp, before)) {
		const unsigned long *frame = (const unsigned long *)fp;
		bool leaf = frame_is(frame[-1], fp);

		if (!leaf)
			pc[n++] = frame[-1];
		before = fp;
		fp = leaf ? frame[-1] : frame[-2];
	}
	return n;
}
