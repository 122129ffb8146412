/*
 * prf without memory: a table is made when it's first written. If there is
 * none for it, that is ENOMEM, and the state stays as it was.
 */
#include <sys/wait.h>

#include "prf.h"

static const unsigned long table[] = {1, 2, 3};

/* Take memory, a page at a time, until there is no more. */
static void
use_up(void)
{
	char *page;

	while ((page = sbrk(4096)) != (void *)-1)
		*page = 1;
}

/* In a child, as it may be ended for want of memory: the errno of a first
 * write when there is no memory left. */
static int
write_without_memory(int fd)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		use_up();
		_exit(prf_put(fd, table, 3) ? 0 : errno);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
main(void)
{
	int used = open("/dev/prf0", O_RDWR), fresh = open(PRF, O_RDWR);

	CHECK(prf_put(used, table, 3), "a table while there is memory");
	CHECK(write_without_memory(fresh) == ENOMEM, "PRF-40: ENOMEM");
	CHECK(prf_status(fresh) == 0, "PRF-40: no table came of it");
	CHECK_ERRNO(read(fresh, got, 8), ENXIO, "PRF-20: to read");
	CHECK(write_without_memory(used) == 0,
	      "PRF-40: a table that has its memory is written again");
	CHECK(prf_get(used, 3) && memcmp(got, table, sizeof(table)) == 0,
	      "and read");
	CHECK(prf_put(fresh, table, 3) && prf_get(fresh, 3),
	      "PRF-40: later, with memory, all is well");
	return check_done();
}
