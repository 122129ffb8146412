/*
 * AIX's profil when memory is short: a buffer that can't be made present is an
 * error of the call. The numbers are clauses of docs/conformance.md.
 */
#include <mon.h>

#include "helpers.h"

/* Have as much memory behind the heap as is promised at once, untouched. */
static char *
promised(size_t *size)
{
	char *start = memory_end();

	*size = 1 << 30;
	while (__brk(start + *size) != start + *size)
		*size = *size / 8 * 7 / PAGE * PAGE;
	return start;
}

static int
profil_with_memory(void)
{
	size_t size;
	char *buffer = promised(&size);

	return profil(buffer, size / 2, 0, 2) == 0 ? 0 : 1;
}

/* In a child, as it may be ended for want of memory: two promises, of which
 * only one can be kept. */
static int
profil_without_memory(void)
{
	size_t size;
	char *buffer = promised(&size);

	if (__brk(buffer + size + size / 2) != buffer + size + size / 2)
		return 1;
	memset(buffer + size, 1, size / 2);
	errno = 0;
	if (profil(buffer, size, 0, 2) != -1 || errno != EFAULT)
		return 2;
	__brk(buffer + PAGE);
	return profil(buffer, PAGE, 0, 2) == 0 ? 0 : 3;
}

int
main(void)
{
	alarm(DEADLINE);
	CHECK(child_run(profil_with_memory) == 0,
	      "AIX-34 a large buffer is made present");
	CHECK(child_run(profil_without_memory) == 0,
	      "AIX-34 without the memory for it it's EFAULT, and off");
	CHECK(child_run(profil_with_memory) == 0,
	      "AIX-34 and memory has been given back");
	return check_done();
}
