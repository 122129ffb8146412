/* The least that a program of Linux's does: it is started by its C library,
 * prints, and ends with a status. */
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	char *block = malloc(100000);

	printf("hello, %d argument, %d environment\n", argc,
	       argv[argc] == NULL);
	fprintf(stderr, "malloc: %s\n", block != NULL ? "good" : "bad");
	free(block);
	return 3;
}
