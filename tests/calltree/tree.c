/*
 * A known call tree, more than half of its time in the kernel: see
 * test_stacks.py.
 *
 *	main - compute - again - again - again - work
 *	     - reads   - again - again - again - read -> the kernel
 *	     - spins   - write -> the kernel, and a function of a device's
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))
#define TURN  20000   /* microseconds of each branch, again and again.. */
#define ALL   1500000 /* ..for so long */

static int zero;
static char buf[1 << 18];

NOIPA static int
work(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 40000; i++)
		sum += i;
	return sum;
}

NOIPA static int
again(int depth, int kernel)
{
	volatile int below; /* so that it is no loop */

	if (depth > 1)
		below = again(depth - 1, kernel);
	else if (kernel)
		below = read(zero, buf, sizeof(buf));
	else
		below = work();
	return below;
}

static long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

NOIPA static int
compute(void)
{
	long end = now_us() + TURN;
	int sum = 0;

	while (now_us() < end)
		sum += again(3, 0);
	return sum;
}

NOIPA static int
reads(void)
{
	long end = now_us() + TURN;
	int sum = 0;

	while (now_us() < end)
		sum += again(3, 1);
	return sum;
}

NOIPA static int
spins(void)
{
	static const char word[] = "spin 1 20000";
	int fd = open("/dev/ktest", O_WRONLY);
	int n = write(fd, word, sizeof(word) - 1);

	return close(fd) + n;
}

int
main(void)
{
	long end = now_us() + ALL;
	int sum = 0;

	zero = open("/dev/zero", O_RDONLY);
	while (now_us() < end)
		sum += compute() + reads() + spins();
	return sum == 0;
}
