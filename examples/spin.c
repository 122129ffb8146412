/*
 * spin [ROUNDS]: work for the profilers, done in three places: walk reads
 * memory, mix computes, and call has the kernel do something.
 *
 *	scripts/run --extra examples -- 'time spin 2000'
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CELLS    1024
#define MIX      300 /* steps a round */
#define CALLS    20  /* system calls a round */
#define DEFAULT  1000
#define MULTIPLY 6364136223846793005UL
#define ADD      1442695040888963407UL

static unsigned long cells[CELLS];

/* Follow a path through an array that visits every cell. */
static __attribute__((noinline)) unsigned long
walk(unsigned long at)
{
	for (int i = 0; i < CELLS; i++)
		at = cells[at];
	return at;
}

/* Arithmetic only. */
static __attribute__((noinline)) unsigned long
mix(unsigned long x)
{
	for (int i = 0; i < MIX; i++)
		x = x * MULTIPLY + ADD;
	return x;
}

/* The kernel's work, called for the sake of the call. */
static __attribute__((noinline)) unsigned long
call(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < CALLS; i++)
		sum += getppid();
	return sum;
}

int
main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 0) : DEFAULT;
	unsigned long at = 0, x = 1, sum = 0;

	/* A step that shares no factor with CELLS reaches every cell. */
	for (int i = 0; i < CELLS; i++)
		cells[i] = (i + 389) % CELLS;
	for (long i = 0; i < rounds; i++) {
		at = walk(at);
		x = mix(x);
		sum += call();
	}
	printf("%ld rounds: %lu %016lx %lu\n", rounds, at, x, sum);
	return 0;
}
