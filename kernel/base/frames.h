/* The calls in progress on a kernel stack, by its frame pointers. */
#ifndef KERNEL_FRAMES_H
#define KERNEL_FRAMES_H

/* Store in pc the return addresses of the calls in progress, at most max, the
 * innermost first. Returns how many: 0 if fp can't be a frame pointer. */
unsigned int frames_walk(unsigned long fp, unsigned long *pc, unsigned int max);

#endif
