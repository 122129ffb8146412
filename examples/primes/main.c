/*
 * primes [LIMIT]: count the primes below LIMIT (default 100000), and print
 * the last. A program of two files, with options for the compiler in the
 * file `flags'.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sieve.h"

int
main(int argc, char **argv)
{
	unsigned long limit = argc > 1 ? strtoul(argv[1], NULL, 0)
				       : DEFAULT_LIMIT;
	struct primes found;

	if (sieve(limit, &found) < 0) {
		perror("primes");
		return 1;
	}
	printf("%lu primes below %lu, the last %lu\n", found.count, limit,
	       found.last);
	return 0;
}
