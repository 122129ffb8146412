/*
 * shop [ORDERS]: prices orders. What is slow in it is planted, for the first
 * questions of docs/cookbook.md.
 */
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

enum { ITEMS = 300, RULES = 24 };

static unsigned int rule[RULES];

/* The planted place: all rules are tried for each item. */
static APART unsigned int
discount(unsigned int item)
{
	unsigned int best = 0;

	for (int i = 0; i < RULES; i++) {
		unsigned int percent = item % (rule[i] + 7);

		best = percent > best ? percent : best;
	}
	return best;
}

static APART unsigned int
shipping(unsigned int item)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 20; i++)
		sum += item ^ i;
	return sum;
}

/* Three of four items are its.. */
static APART unsigned int
invoice(unsigned int order)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 3 * ITEMS; i++)
		sum += discount(order + i) + shipping(i);
	return sum;
}

/* ..and one is this one's. */
static APART unsigned int
catalogue(unsigned int order)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ITEMS; i++)
		sum += discount(order ^ i);
	return sum;
}

int
main(int argc, char **argv)
{
	unsigned int orders = argc > 1 ? atoi(argv[1]) : 200, sum = 0;

	for (int i = 0; i < RULES; i++)
		rule[i] = i * i;
	for (unsigned int i = 0; i < orders; i++)
		sum += invoice(i) ^ catalogue(i);
	printf("%u\n", sum);
	return 0;
}
