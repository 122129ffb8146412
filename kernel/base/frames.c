/*
 * Walking a kernel stack, for a panic's backtrace. (For samples: dev/stack.c.)
 *
 * The kernel is compiled with frame pointers. In a function that calls others,
 * s0 points just behind two words of its frame:
 *	s0 - 8	the return address
 *	s0 - 16	the caller's s0, which points further up
 *
 * Nothing that is found is believed before it is checked: in a panic something
 * is wrong already, and a fault here would be a second one.
 */
#include "frames.h"

#include <stdbool.h>

#include "layout.h"

/*
 * Can fp, perhaps a user's s0, be the frame pointer of the caller of the
 * function whose frame pointer is `before`? It must lie in the window of the
 * stacks, or in the kernel's data and bss, where the boot stack is; in the same
 * upper half of a slot as `before` (layout.h); and not below it, so that the
 * walk comes to an end.
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
 * A leaf, a function that calls no other, keeps its return address in ra. Its
 * frame has only the caller's fp, at fp - 8. What is there tells the two kinds
 * apart: a return address never points into this stack. At first nothing is
 * before fp, and fp - 1 is what makes is_frame's comparisons true.
 */
unsigned int
frames_walk(unsigned long fp, unsigned long *pc, unsigned int max)
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
