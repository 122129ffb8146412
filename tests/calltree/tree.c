/*
 * A known call tree, half of its time in the kernel: see test_stacks.py.
 *
 *	main - compute - again - again - again - work
 *	     - reads   - again - again - again - read -> the kernel
 *	     - spins   - write -> the kernel, and a function of a device's
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))

static int zero;
static char buf[1 << 16];

NOIPA static int
work(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 200000; i++)
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

NOIPA static int
compute(void)
{
	return again(3, 0) + 1;
}

NOIPA static int
reads(void)
{
	int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += again(3, 1);
	return sum;
}

NOIPA static int
spins(void)
{
	static const char word[] = "spin 1 30000";
	int fd = open("/dev/ktest", O_WRONLY);
	int n = write(fd, word, sizeof(word) - 1);

	return close(fd) + n;
}

/* However fast the machine is. */
int
main(void)
{
	time_t end = time(NULL) + 2;
	int sum = 0;

	zero = open("/dev/zero", O_RDONLY);
	do
		sum += compute() + reads() + spins();
	while (time(NULL) < end);
	return sum == 0;
}
