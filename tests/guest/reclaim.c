/*
 * What the kernel keeps for reuse is there for others: memory can be used up
 * to almost the last page whatever ran before, and large blocks can be had of
 * memory that was in pieces.
 */
#include "children.h"

#define CHILDREN 200
#define SPARE    230 /* pages: what the heap must leave, and harts may have */
#define ARGS     20
#define LONG     5000 /* bytes of an argument */

static int
sleep_till_killed(void)
{
	pause();
	return 1;
}

/* Each has a stack in the kernel, and pages of its own. */
static void
many_processes(void)
{
	pid_t pid[CHILDREN];
	int n = 0;

	while (n < CHILDREN && (pid[n] = child_start(sleep_till_killed)) > 0)
		n++;
	CHECK(n == CHILDREN, "%d processes at once", CHILDREN);
	while (n > 0)
		child_end(pid[--n]);
}

/* Touch all the memory there is but SPARE pages. */
static int
use_memory(void)
{
	long n = pages_free() - SPARE;
	char *heap = sbrk(n * PAGE);

	if (heap == (char *)-1)
		return 1;
	for (long i = 0; i < n; i++)
		heap[i * PAGE] = 1;
	return pages_free() < 2 * SPARE ? 0 : 2;
}

/* Its arguments are 100 KB, which the kernel copies to a block of their own. */
static int
run_with_long_arguments(void)
{
	static char text[LONG];
	char *argv[ARGS + 1] = {NULL};

	memset(text, 'a', LONG - 1);
	for (int i = 0; i < ARGS; i++)
		argv[i] = text;
	execv("/bin/true", argv);
	return 1;
}

int
main(void)
{
	long before, after;

	many_processes();
	before = pages_free();
	CHECK(child_run(use_memory) == 0, "all memory can be used after that");
	CHECK(child_run(run_with_long_arguments) == 0, "then a large block");
	many_processes();
	CHECK(child_run(run_with_long_arguments) == 0, "and another");
	after = pages_free();
	CHECK(after >= before - 2, "no page is lost: %ld", before - after);
	return check_done();
}
