/* AIX's profil: a range of text and a counter for each function. */
#include <mon.h>

#include "profil_test.h"

static HISTCOUNTER counter[2];

/* Scale 2: all of the range counts in the first counter. */
static struct prof
range(void (*function)(void), int slot)
{
	uintptr_t low = (uintptr_t)function;

	return (struct prof){low, low + AREA, &counter[slot],
			     sizeof(counter[0]), 2};
}

struct parts
by_aix(void)
{
	int first = (uintptr_t)three_parts < (uintptr_t)one_part;
	struct prof ranges[] = {
	    range(first ? three_parts : one_part, 0),
	    range(first ? one_part : three_parts, 1),
	    {.p_high = 0},
	};

	if (profil(ranges, -1, 0, 0) < 0)
		return (struct parts){0, 0};
	while (counter[0] + counter[1] < ENOUGH) {
		one_part();
		three_parts();
	}
	profil(&ranges[2], -1, 0, 0);
	return (struct parts){counter[first], counter[!first]};
}
