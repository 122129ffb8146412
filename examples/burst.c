/*
 * burst: answers a request every 20 ms, in the same short time; but 1.3 s after
 * its start it does something else. What, and for how long? See
 * docs/cookbook.md.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

enum {
	END = 2000,
	EVERY = 20,
	ANSWER = 2,
	BURST_AT = 1300,
	BURST = 150
}; /* ms */

static APART uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static APART unsigned int
work(uint64_t ms)
{
	uint64_t end = now() + ms;
	unsigned int sum = 0;

	while (now() < end)
		for (unsigned int i = 0; i < 1000; i++)
			sum = sum * 3 + i;
	return sum;
}

static APART unsigned int
answer(void)
{
	return work(ANSWER) * 5 + 1;
}

static APART unsigned int
rebuild_cache(void)
{
	return work(BURST) * 7 + 1;
}

int
main(void)
{
	uint64_t begin = now();
	unsigned int sum = 0;
	int rebuilt = 0;

	while (now() < begin + END) {
		sum += answer();
		if (!rebuilt && now() >= begin + BURST_AT) {
			sum += rebuild_cache();
			rebuilt = 1;
		}
		usleep((EVERY - ANSWER) * 1000);
	}
	printf("%u\n", sum);
	return 0;
}
