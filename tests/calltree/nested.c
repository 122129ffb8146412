/*
 * nested ROUNDS: calls as deep as a stack's record can be, and deeper, so that
 * samples take the most room: see test_getpc.py.
 */
#include <stdlib.h>

#define DEPTH 60
#define WORK  2000

static volatile long sum;

static void __attribute__((noipa)) descend(int depth)
{
	if (depth > 0)
		descend(depth - 1);
	else
		for (int i = 0; i < WORK; i++)
			sum += i;
	sum++; /* so that the call is no jump */
}

int
main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++)
		descend(i % DEPTH);
	return 0;
}
