/* The sieve of Eratosthenes, a byte to a number. */
#include "sieve.h"

#include <stdlib.h>

int
sieve(unsigned long limit, struct primes *found)
{
	/* Zeroed, and so in no memory at all until it is written to. */
	char *composite = calloc(limit + 1, 1);
	if (composite == NULL)
		return -1;
	*found = (struct primes){0};
	for (unsigned long n = 2; n < limit; n++) {
		if (composite[n])
			continue;
		found->count++;
		found->last = n;
		for (unsigned long m = n * n; m < limit; m += n)
			composite[m] = 1;
	}
	free(composite);
	return 0;
}
