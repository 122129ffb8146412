/* Fork copies on write, both ways; and memory is there on demand. */
#include <stdlib.h>
#include <sys/wait.h>

#include "check.h"

#define PAGE  4096
#define PAGES 64

static char data[PAGES][PAGE] = {"of the program's file"};

/* Does byte i of every page hold value + page? */
static bool
holds(int i, int value)
{
	for (int page = 0; page < PAGES; page++)
		if (data[page][i] != (char)(value + page))
			return false;
	return true;
}

static void
fill(int i, int value)
{
	for (int page = 0; page < PAGES; page++)
		data[page][i] = value + page;
}

/* The exit status of a child that does what it is told. */
static int
child(int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int
child_writes(void)
{
	bool inherited = holds(100, 1);

	fill(100, 2);
	return inherited && holds(100, 2) ? 0 : 1;
}

static int
grandchild_reads(void)
{
	fill(100, 3);
	return child(child_writes) == 1 && holds(100, 3) ? 0 : 1;
}

int
main(void)
{
	char *heap = malloc(PAGES * PAGE);

	CHECK(strcmp(data[0], "of the program's file") == 0, "data from file");
	CHECK(data[PAGES - 1][PAGE - 1] == 0, "the rest is zero");
	fill(100, 1);
	CHECK(child(child_writes) == 0, "a child writes its own");
	CHECK(holds(100, 1), "the parent's are as they were");
	CHECK(child(grandchild_reads) == 0, "a child's child has the child's");
	CHECK(holds(100, 1), "and the parent's are still as they were");
	CHECK(heap != NULL, "heap");
	memset(heap, 7, PAGES * PAGE);
	CHECK(heap[PAGES * PAGE - 1] == 7, "heap is there to its end");
	return check_done();
}
