/*
 * copybytes FROM TO: copies a file, one byte at a time. So nearly all of its
 * time passes in the kernel: see docs/cookbook.md.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static __attribute__((noinline)) int
copy(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			return 1;
	return 0;
}

int
main(int argc, char **argv)
{
	int from, to;

	if (argc != 3) {
		fprintf(stderr, "copybytes: usage: copybytes FROM TO\n");
		return 2;
	}
	from = open(argv[1], O_RDONLY);
	to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (from < 0 || to < 0) {
		perror("copybytes");
		return 1;
	}
	if (copy(from, to) != 0) {
		perror("copybytes");
		return 1;
	}
	return 0;
}
