/* A view that a terminal shows, and shows again each second. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tally.h"

#define HOME_AND_ERASE "\033[H\033[2J"
#define FRAME          1000 /* ms */
#define BAR            10
#define OTHER_LINES    7 /* than those of harts and functions */
#define ROWS           24
#define COLUMNS        80

static struct termios before; /* the terminal's settings */
static bool quit;             /* q was typed */

static void
restore(void)
{
	tcsetattr(STDOUT_FILENO, TCSANOW, &before);
}

/* Keys one by one, unseen, and without waiting for any. */
static void
keys_open(void)
{
	struct termios keys;

	if (tcgetattr(STDOUT_FILENO, &before) < 0) {
		cmd_error("-t: standard output is not a terminal");
		exit(cmd_status);
	}
	keys = before;
	keys.c_lflag &= ~(ICANON | ECHO);
	keys.c_cc[VMIN] = 0;
	keys.c_cc[VTIME] = 0;
	atexit(restore);
	if (tcsetattr(STDOUT_FILENO, TCSANOW, &keys) < 0)
		cmd_die("-t");
}

static bool
over(void)
{
	char key;

	while (read(STDOUT_FILENO, &key, 1) == 1)
		if (key == 'q' || key == 'Q')
			quit = true;
	return quit || pcs_interrupted || pcs_terminated;
}

static void
show(uint64_t lost, uint64_t skipped)
{
	struct winsize screen = {0};
	struct table t = {.bar = BAR};
	size_t others = OTHER_LINES + hart_count();
	size_t rows = 1;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen);
	if (screen.ws_row == 0)
		screen.ws_row = ROWS;
	if (screen.ws_col == 0)
		screen.ws_col = COLUMNS;
	if (screen.ws_row > others)
		rows = screen.ws_row - others;
	t.width = screen.ws_col - 1;
	out_string(HOME_AND_ERASE "tally: ");
	report_total(lost, skipped);
	out_string("; q quits\n");
	report_harts(t.width);
	report_functions(&t, rows < limit ? rows : limit);
	free(t.rows);
	out_flush();
}

/* In milliseconds, of no clock that is set. */
static long
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
live(unsigned long seconds)
{
	struct pcs_stat s, before = {0};
	unsigned long frames = 0;
	int device;

	pcs_catch_signals();
	keys_open();
	device = count_open();
	profclock_set(rate);
	while (!over() && (seconds == 0 || frames++ < seconds)) {
		long end = now() + FRAME, left = FRAME;

		pcs_ask(device, only_kernel ? PROF_KERNEL : PROF_ALL, 0);
		for (; left > 0 && !over(); left = end - now())
			pcs_wait(device, STDOUT_FILENO, left, count_buffers);
		s = pcs_finish(device, count_buffers);
		if (left <= 0)
			show(s.lost - before.lost, s.skipped - before.skipped);
		before = s;
		count_clear();
	}
}
