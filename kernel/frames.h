/* The calls in progress on a kernel stack, by its frame pointers. */
#ifndef KERNEL_FRAMES_H
#define KERNEL_FRAMES_H

#include <stdbool.h>

/*
 * May fp be the frame pointer of what called the function whose frame pointer
 * is `before`? Both are then in one stack's half of a slot (layout.h), and
 * grow. Anything may be in a register that isn't one, a user's s0 for one.
 */
bool frame_is(unsigned long fp, unsigned long before);

/* The return addresses from the frame that fp points behind, the innermost
 * first: up to max of them into pc; how many. fp may be anything. */
unsigned int kernel_frames(unsigned long fp, unsigned long *pc,
			   unsigned int max);

#endif
