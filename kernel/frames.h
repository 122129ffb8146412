/* The calls in progress on a kernel stack, by its frame pointers. */
#ifndef KERNEL_FRAMES_H
#define KERNEL_FRAMES_H

/* The return addresses from the frame that fp points behind, the innermost
 * first: up to max of them into pc; how many. fp may be anything. */
unsigned int kernel_frames(unsigned long fp, unsigned long *pc,
			   unsigned int max);

#endif
