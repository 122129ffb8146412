/*
 * A ^C that was typed while ISIG was off, and has been erased since, signals
 * nobody when ISIG is on again.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int
main(void)
{
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};
	struct termios before, t;
	int waiting = 0;
	char c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	tcgetattr(STDIN_FILENO, &before);
	t = before;
	t.c_lflag &= ~(ICANON | ISIG | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
	puts("type a^C");
	while (waiting < 2 && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0)
		usleep(10000);
	t.c_lflag |= ICANON;
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	if (read(STDIN_FILENO, &c, 1) >= 0)
		return 2;
	puts("erase it");
	poll(&line, 1, -1);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	puts("it signals nobody");
	fcntl(STDIN_FILENO, F_SETFL, 0);
	read(STDIN_FILENO, &c, 1);
	return c == '\n' ? 0 : 1;
}
