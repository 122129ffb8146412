/*
 * forks [BYTES]: makes 50 children, one after the other, while it has so many
 * bytes of memory that it has written to. What does one cost? See
 * docs/cookbook.md.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 50 };

static __attribute__((noinline)) void
make_child(void)
{
	if (fork() == 0)
		_exit(0);
	wait(NULL);
}

int
main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	char *memory = malloc(size + 1);

	if (memory == NULL)
		return 1;
	memset(memory, 1, size);
	for (int i = 0; i < CHILDREN; i++)
		make_child();
	return 0;
}
