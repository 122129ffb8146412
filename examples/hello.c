/*
 * A program of your own. From the top of Tally's sources:
 *
 *	scripts/run --extra examples -- hello you
 *
 * builds it, boots Tally with it in /bin, and runs it. It is plain C with
 * the usual headers; nothing in it knows of Tally.
 */
#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const char *who = argc > 1 ? argv[1] : "world";

	printf("Hello, %s: this is process %d.\n", who, (int)getpid());
	return 0;
}
