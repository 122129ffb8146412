/*
 * MAKERS BUSY: some processes make children all the time, others only compute.
 * There is a hart for each, and each child takes locks that the others want:
 * nobody stands still for it.
 */
#include <limits.h>
#include <stdlib.h>

#include "children.h"
#include "profiling.h"

#define SPAN    4000000 /* us */
#define WINDOWS 10      /* in each of which processes are made */

static int reports[2];

static void
compute(uint64_t end)
{
	burn_us(end - now_us());
	_exit(0);
}

/* Make children, and tell how many it were in each window. */
static void
make(uint64_t start)
{
	unsigned int made[WINDOWS] = {0};
	uint64_t now;

	burn_us(start - now_us());
	while ((now = now_us() - start) < SPAN) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		made[now * WINDOWS / SPAN]++;
	}
	write(reports[1], made, sizeof(made));
	_exit(0);
}

int
main(int, char **argv)
{
	unsigned int makers = atoi(argv[1]), busy = atoi(argv[2]);
	unsigned int sums[WINDOWS] = {0}, all = 0, least = UINT_MAX;
	uint64_t start = now_us() + 300000;

	pipe(reports);
	for (unsigned int i = 0; i < busy; i++)
		if (fork() == 0)
			compute(start + SPAN);
	for (unsigned int i = 0; i < makers; i++)
		if (fork() == 0)
			make(start);
	for (unsigned int i = 0; i < makers; i++) {
		unsigned int made[WINDOWS];

		read(reports[0], made, sizeof(made));
		for (unsigned int w = 0; w < WINDOWS; w++)
			sums[w] += made[w];
	}
	for (unsigned int w = 0; w < WINDOWS; w++) {
		all += sums[w];
		least = sums[w] < least ? sums[w] : least;
	}
	fprintf(stderr, "%u processes, the fewest in %u ms %u\n", all,
		SPAN / WINDOWS / 1000, least);
	CHECK(least * WINDOWS * 4 >= all && all > 0,
	      "processes are made all the time");
	return check_done();
}
