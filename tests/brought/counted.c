/* counted N: its function loop executes 2 N + 1 instructions; it is called by
 * counted, which main calls. */
#include <stdio.h>
#include <stdlib.h>

#include "loop.h"

__attribute__((noinline)) static void
counted(long n)
{
	loop(n);
	puts("counted");
}

int
main(int, char **argv)
{
	counted(atol(argv[1]));
	return 0;
}
