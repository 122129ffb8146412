/* Reads what is typed to where nothing is, and then once more. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int
main(void)
{
	char line[100];
	int error;
	ssize_t n;

	write(STDOUT_FILENO, "type: ", 6);
	error = read(STDIN_FILENO, NULL, sizeof(line)) < 0 ? errno : 0;
	n = read(STDIN_FILENO, line, sizeof(line));

	printf("error %d, then %zd: %.*s", error, n, (int)n, line);
	return 0;
}
