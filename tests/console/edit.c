/*
 * What the terminal does with keys in settings that no command asks for. Each
 * part says what to type, and then what was read.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

static void
count(int)
{
	interrupts++;
}

static void
set(struct termios t, tcflag_t off, tcflag_t on)
{
	t.c_lflag = (t.c_lflag & ~off) | on;
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

static void
read_line(const char *say)
{
	char line[64];
	ssize_t n;

	puts(say);
	n = read(STDIN_FILENO, line, sizeof(line));
	printf("read %.*s", (int)n, line);
}

/* Typed as plain characters, and only then looked at as a line's keys. */
static void
type_ahead(struct termios t)
{
	int waiting = 0;
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

	set(t, ICANON | ISIG | ECHO, 0);
	puts("type ahead");
	while (waiting < 2 && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0)
		usleep(10000);
	set(t, 0, 0);
	poll(&line, 1, 0);
	for (int i = 0; i < 100 && interrupts == 0; i++)
		usleep(10000);
	printf("signals: %d\n", (int)interrupts);
}

/* With VMIN the time counts from the first byte on: it's typed long after. */
static void
wait_for_first(struct termios t)
{
	char c;

	t.c_lflag &= ~(ICANON | ECHO);
	t.c_cc[VMIN] = 2;
	t.c_cc[VTIME] = 1;
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
	if (fork() == 0) {
		usleep(500000);
		puts("type one");
		fflush(stdout);
		_exit(0);
	}
	printf("bytes: %d\n", (int)read(STDIN_FILENO, &c, 1));
}

int
main(void)
{
	struct termios before;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGINT, count);
	tcgetattr(STDIN_FILENO, &before);
	set(before, ECHOE, ECHOK);
	read_line("type a line and kill it");
	set(before, 0, 0);
	read_line("type a word and erase it");
	type_ahead(before);
	wait_for_first(before);
	set(before, 0, 0);
	return 0;
}
