/* A program of two files, one of which needs the flags in `flags`. */
#include <stdio.h>

int half(int n);

int
main(int argc, char **argv)
{
	printf("%s %d %d\n", argv[0], argc, half(2 * WHOLE));
	return half(2 * 5);
}
