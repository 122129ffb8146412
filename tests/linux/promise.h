/* A promise of Linux's manual: what is printed until the next one must be what
 * Linux prints. */
#ifndef PROMISE_H
#define PROMISE_H

#include <stdio.h>

/* The page, and what it says. Nothing is left in a buffer, as a child would
 * print it again. */
#define PROMISE(text)                   \
	do {                            \
		printf("# %s\n", text); \
		fflush(stdout);         \
	} while (0)

#endif
