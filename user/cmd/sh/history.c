/*
 * The lines that were typed: the last of them in memory, and in the file that
 * HISTFILE names, to which each is added at once. So they are still there for
 * the next shell, however this one ends. A shell that starts and finds the
 * file grown to twice the lines that it keeps cuts it to those.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edit.h"

#define HISTORY_LINES 500

#define SHARED "/host/.tally_history" /* lasts beyond this machine */
#define OWN    "/tmp/.history"

static char *history[HISTORY_LINES]; /* a ring; line n is at n modulo */
static unsigned int history_count;

static unsigned int
history_first(void)
{
	return history_count < HISTORY_LINES ? 0
					     : history_count - HISTORY_LINES;
}

const char *
history_line(int back)
{
	if (back < 1 || history_count - history_first() < (unsigned int)back)
		return NULL;
	return history[(history_count - back) % HISTORY_LINES];
}

/* false: it isn't worth it. */
static bool
keep(const char *line)
{
	char **slot = &history[history_count % HISTORY_LINES];
	const char *last = history_line(1);

	if (line[strspn(line, " \t")] == '\0' ||
	    (last && strcmp(line, last) == 0))
		return false;
	free(*slot);
	*slot = xstrdup(line);
	history_count++;
	return true;
}

/* The file, opened; -1: there is to be none, or it can't be had. */
static int
open_file(int flags)
{
	const char *name = var_get("HISTFILE");

	return name && *name ? open(name, flags | O_CLOEXEC, 0600) : -1;
}

/* One write for each line: two shells may do it. */
static bool
write_line(int fd, const char *line)
{
	struct buf text = {0};
	bool ok;

	buf_add(&text, line, strlen(line));
	buf_put(&text, '\n');
	ok = write(fd, text.s, text.len) == (ssize_t)text.len;
	buf_free(&text);
	return ok;
}

/* At the prompt a disk that is full is no reason to complain of each line. */
void
history_add(const char *line)
{
	int fd;

	if (!keep(line))
		return;
	fd = open_file(O_WRONLY | O_APPEND | O_CREAT);
	if (fd >= 0)
		write_line(fd, line);
	close(fd);
}

/* The file again, with the lines that are kept: beside it, so that a power
 * off in between loses nothing. */
static void
rewrite_file(const char *name)
{
	unsigned int i = history_first();
	struct buf new = {0};
	bool ok;
	int fd;

	buf_add(&new, name, strlen(name));
	buf_add(&new, ".new", 4);
	fd = open(new.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ok = fd >= 0;
	for (; ok && i < history_count; i++)
		ok = write_line(fd, history[i % HISTORY_LINES]);
	close(fd);
	if (ok)
		rename(new.s, name);
	buf_free(&new);
}

void
history_start(void)
{
	struct input in;
	unsigned int lines = 0;
	int fd;

	if (!var_get("HISTFILE"))
		var_set("HISTFILE", access("/host", W_OK) == 0 ? SHARED : OWN);
	fd = open_file(O_RDONLY);
	if (fd < 0)
		return;
	input_file(&in, fd_move_up(fd));
	close(fd);
	for (; input_line(&in); lines++) {
		in.text.s[strcspn(in.text.s, "\n")] = '\0';
		keep(in.text.s);
	}
	input_close(&in);
	if (lines > 2 * HISTORY_LINES)
		rewrite_file(var_get("HISTFILE"));
}

int
builtin_history(int argc, char **argv)
{
	unsigned int i;

	(void)argc, (void)argv;
	for (i = history_first(); i < history_count; i++) {
		out_format("%5u  ", i + 1);
		out_str(history[i % HISTORY_LINES]);
		out_char('\n');
	}
	return 0;
}
