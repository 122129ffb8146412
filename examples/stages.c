/*
 * stages [MS]: a pipeline of three processes. The one in the middle computes
 * for so long for each piece, and so the others wait for it. See
 * docs/cookbook.md.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

enum { PIECES = 60 };

static char piece[16384];

static APART void
compute(long ms)
{
	struct timespec t;
	long end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

static APART void
produce(int out)
{
	for (int i = 0; i < PIECES; i++)
		write(out, piece, sizeof(piece));
	exit(0);
}

static APART void
refine(int in, int out, long ms)
{
	for (ssize_t n; (n = read(in, piece, sizeof(piece))) > 0;) {
		compute(ms);
		write(out, piece, n);
	}
	exit(0);
}

static APART void
consume(int in)
{
	while (read(in, piece, sizeof(piece)) > 0)
		;
	exit(0);
}

int
main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 10;
	int raw[2], fine[2];

	pipe(raw);
	if (fork() == 0) {
		close(raw[0]);
		produce(raw[1]);
	}
	close(raw[1]);
	pipe(fine);
	if (fork() == 0) {
		close(fine[0]);
		refine(raw[0], fine[1], ms);
	}
	close(raw[0]);
	close(fine[1]);
	if (fork() == 0)
		consume(fine[0]);
	close(fine[0]);
	while (wait(NULL) > 0)
		;
	return 0;
}
