/* Solaris's profil: a counter for every two bytes of the program's text. */
#include <stdlib.h>
#include <unistd.h>

#include "profil_test.h"

#define RATIO_1 0x10000 /* a byte of buffer for a byte of text */

extern char _start[], etext[]; /* where text begins and ends */

static unsigned int
sum(const unsigned short *buffer, void (*function)(void))
{
	size_t first = ((uintptr_t)function - (uintptr_t)_start) / 2;
	unsigned int n = 0;

	for (size_t i = first; i < first + AREA / 2; i++)
		n += buffer[i];
	return n;
}

struct parts
by_solaris(void)
{
	size_t size = etext - _start + AREA;
	unsigned short *buffer = calloc(1, size);
	struct parts p = {0, 0};

	if (buffer == NULL ||
	    profil(buffer, size, (uintptr_t)_start, RATIO_1) < 0)
		return p;
	while (p.one + p.three < ENOUGH) {
		one_part();
		three_parts();
		p = (struct parts){sum(buffer, one_part),
				   sum(buffer, three_parts)};
	}
	profil(NULL, 0, 0, 0);
	free(buffer);
	return p;
}
