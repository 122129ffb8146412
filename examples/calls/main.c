/*
 * A program that profiles itself, for it is compiled with -pg (the file
 * `flags`): at its end it writes gmon.out. Which function takes the time, and
 * on whose behalf? See monitor(3) and prof(1).
 */
#include <stdio.h>

#define NUMBERS 3000

static int __attribute__((noinline)) divides(int d, int n)
{
	return n % d == 0;
}

static int __attribute__((noinline)) is_prime(int n)
{
	for (int d = 2; d < n; d++)
		if (divides(d, n))
			return 0;
	return 1;
}

static int __attribute__((noinline)) divisors(int n)
{
	int count = 0;

	for (int d = 1; d <= n; d++)
		count += divides(d, n);
	return count;
}

int
main(void)
{
	int primes = 0, most = 0;

	for (int n = 2; n < NUMBERS; n++) {
		int count = divisors(n);

		primes += is_prime(n);
		if (count > most)
			most = count;
	}
	printf("%d primes below %d, at most %d divisors\n", primes, NUMBERS,
	       most);
	return 0;
}
