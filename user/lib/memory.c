/*
 * The heap's end, for malloc. The C library's malloc asks for each block it
 * lacks on its own, so the break is moved in large steps: pages cost nothing
 * until they are touched.
 */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#define STEP  0x10000 /* bytes; a power of two */
#define SLACK 32      /* past the end, as in user.ld */

char *__brk(char *end); /* the system call: the break as it is then */

static char *heap_end;   /* what the program has asked for */
static char *kernel_end; /* what the kernel has granted */

/* Move the heap's end by increment; where it was, or (void *)-1: ENOMEM. */
void *
sbrk(ptrdiff_t increment)
{
	if (heap_end == NULL)
		heap_end = kernel_end = __brk(NULL);
	char *old = heap_end;
	char *new = old + increment;
	if (new + SLACK > kernel_end || increment < 0) {
		uintptr_t want = ((uintptr_t) new + SLACK + STEP - 1) & -STEP;
		kernel_end = __brk((char *)want);
		if (kernel_end < new + SLACK) /* less may still fit */
			kernel_end = __brk(new + SLACK);
		if (kernel_end < new + SLACK) {
			errno = ENOMEM;
			return (void *)-1;
		}
	}
	heap_end = new;
	return old;
}
