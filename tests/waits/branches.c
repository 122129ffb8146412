/*
 * A run with two ways to its end: a child that sleeps for SHORT; another that
 * sleeps for LONG, and a third that waits for it and sleeps for AFTER then. The
 * second way is the longer one. Times are in milliseconds.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define SHORT 130
#define LONG  210
#define AFTER 90

static APART void
short_way(void)
{
	poll(NULL, 0, SHORT);
	exit(0);
}

static APART void
long_way(int out)
{
	poll(NULL, 0, LONG);
	write(out, "x", 1);
	exit(0);
}

static APART void
after_it(int in)
{
	char c;

	read(in, &c, 1);
	poll(NULL, 0, AFTER);
	exit(0);
}

int
main(void)
{
	int end[2];

	pipe(end);
	if (fork() == 0)
		short_way();
	if (fork() == 0)
		long_way(end[1]);
	if (fork() == 0)
		after_it(end[0]);
	while (wait(NULL) > 0)
		;
	return 0;
}
