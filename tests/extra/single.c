#include <stdio.h>

int
main(void)
{
	puts("single");
	return 0;
}
