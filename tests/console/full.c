/*
 * Reads nothing, by characters, until a number of them wait; then all, up to
 * an X. Prints how many came and a sum that depends on their order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int
main(int, char **argv)
{
	int wanted = atoi(argv[1]), waiting = 0;
	unsigned int count = 0, sum = 0;
	struct termios before, raw;
	char c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	tcgetattr(STDIN_FILENO, &before);
	raw = before;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	printf("ready\n");
	while (waiting < wanted && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0)
		usleep(10000);
	printf("full: %d\n", waiting);
	for (; read(STDIN_FILENO, &c, 1) == 1 && c != 'X'; count++)
		sum = sum * 31 + (unsigned char)c;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	printf("%u, %08x\n", count, sum);
	return 0;
}
