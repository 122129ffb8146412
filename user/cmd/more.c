/*
 * more: show files a screen at a time. Space shows the next, Return one more
 * line, q ends. The keys are read from standard error, which is the terminal
 * when standard input is what there is to show. When standard output is no
 * terminal this is cat.
 */
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define TAB    8 /* columns */
#define PROMPT "\033[7m--More--\033[m"
#define ERASE  "\r\033[K"

static struct termios before; /* settings to be put back */
static struct winsize screen;
static unsigned int left; /* rows until the next prompt */
static bool quit;

static void
restore(void)
{
	tcsetattr(STDERR_FILENO, TCSANOW, &before);
}

static void
interrupted(int signal)
{
	restore();
	write(STDERR_FILENO, ERASE, sizeof(ERASE) - 1);
	_exit(128 + signal);
}

/* Keys one by one, unseen. False: there is no terminal to read them from. */
static bool
keys_open(void)
{
	struct termios keys;

	if (tcgetattr(STDERR_FILENO, &before) < 0)
		return false;
	keys = before;
	keys.c_lflag &= ~(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	return tcsetattr(STDERR_FILENO, TCSANOW, &keys) == 0;
}

/* Wait for a key that says how to go on. */
static void
ask(void)
{
	char key;

	out_string(PROMPT);
	out_flush();
	for (;;) {
		if (read(STDERR_FILENO, &key, 1) != 1 || key == 'q' ||
		    key == 'Q')
			quit = true;
		else if (key == ' ' || key == 'f')
			left = screen.ws_row - 1;
		else if (key == '\n' || key == '\r' || key == 'j')
			left = 1;
		else
			continue;
		break;
	}
	out_string(ERASE);
}

/* Rows that a line takes. Backspaces are those of bold and underlined text
 * in manual pages. */
static unsigned int
rows(const char *line, size_t length)
{
	size_t column = 0;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '\t')
			column += TAB - column % TAB;
		else if (line[i] == '\b' && column > 0)
			column--;
		/* A character of UTF-8 is one column, not one a byte. */
		else if ((line[i] & 0xc0) != 0x80)
			column++;
	}
	return column == 0 ? 1 : (column + screen.ws_col - 1) / screen.ws_col;
}

static void
show(int fd, const char *name)
{
	struct lines in;
	size_t length;
	char *line;

	if (quit)
		return;
	lines_open(&in, fd, name);
	while (!quit && (line = lines_next(&in, &length))) {
		unsigned int needed = rows(line, length);

		if (needed > left)
			ask();
		if (quit)
			break;
		left = left > needed ? left - needed : 0;
		out_bytes(line, length);
		out_char('\n');
	}
	lines_close(&in);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "more", "[FILE ...]");
	cmd_flags("");
	if (cmd_argc == 0 && isatty(STDIN_FILENO))
		cmd_usage("no file given, and standard input is a terminal");
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) < 0 ||
	    screen.ws_row < 2 || screen.ws_col == 0 || !keys_open()) {
		cmd_files(out_copy);
		return cmd_done();
	}
	left = screen.ws_row - 1;
	cmd_files(show);
	out_flush();
	restore();
	return cmd_done();
}
