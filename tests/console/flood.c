/*
 * Writes numbered lines without waiting until there is no room for one, and
 * says so by making a file; then the rest, and waits. Arguments: the file, and
 * how many lines.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool
put(int i)
{
	char line[16];
	int n = snprintf(line, sizeof(line), "%07d\n", i);

	return write(STDOUT_FILENO, line, n) == n;
}

int
main(int, char **argv)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL), lines = atoi(argv[2]), i = 0;
	int error;

	fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
	while (i < lines && put(i))
		i++;
	error = i < lines ? errno : 0;
	fcntl(STDOUT_FILENO, F_SETFL, flags);
	close(open(argv[1], O_WRONLY | O_CREAT, 0666));
	while (i < lines && put(i))
		i++;
	if (error != EAGAIN)
		errx(1, "it was never full: error %d", error);
	return 0;
}
