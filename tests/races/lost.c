/* lost: as many threads as there are harts count together, plainly and
 * atomically: how many of the plain additions were lost, and of the others. */
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define TIMES   20000

static volatile long plain;
static long atomic;

static void *
count(void *)
{
	for (int i = 0; i < TIMES; i++) {
		plain++;
		__atomic_add_fetch(&atomic, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int
main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, count, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld\n", THREADS * TIMES - plain, THREADS * TIMES - atomic);
	return 0;
}
