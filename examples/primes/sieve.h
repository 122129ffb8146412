#ifndef SIEVE_H
#define SIEVE_H

struct primes {
	unsigned long count, last; /* last is 0 if there are none */
};

/* Find the primes below limit. 0, or -1 with errno: ENOMEM. */
int sieve(unsigned long limit, struct primes *found);

#endif
