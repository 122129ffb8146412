/* tail: the last lines, or bytes, of files; or all from one on. */
#include <stdlib.h>
#include <string.h>

#include "../cmdlib/cmd.h"

static unsigned long count = 10;
static bool in_bytes;
static bool from_start; /* +N: from the Nth on */

static const char *
skip_lines(const char *text, const char *end, unsigned long lines)
{
	while (lines-- > 0) {
		text = memchr(text, '\n', end - text);
		if (!text)
			return end;
		text++;
	}
	return text;
}

/* Where the last lines begin. A newline at the very end ends the last. */
static const char *
last_lines(const char *text, const char *end, unsigned long lines)
{
	const char *at = end;

	if (lines == 0)
		return end;
	if (at > text)
		at--;
	for (; at > text; at--) {
		if (at[-1] == '\n' && --lines == 0)
			break;
	}
	return at;
}

/* What is to be shown of text[0..size-1] begins here. */
static const char *
start(const char *text, size_t size)
{
	unsigned long skipped = count > 0 ? count - 1 : 0;
	const char *end = text + size;

	if (in_bytes && from_start)
		return skipped < size ? text + skipped : end;
	if (in_bytes)
		return count < size ? end - count : text;
	if (from_start)
		return skip_lines(text, end, skipped);
	return last_lines(text, end, count);
}

static void
tail(int fd, const char *name)
{
	static bool begun;
	const char *shown;
	size_t size;
	char *text = cmd_slurp(fd, name, &size);

	if (!text)
		return;
	if (cmd_argc > 1) {
		out_string(begun ? "\n==> " : "==> ");
		out_path(cmd_title(name));
		out_string(" <==\n");
	}
	begun = true;
	shown = start(text, size);
	out_bytes(shown, text + size - shown);
	free(text);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "tail",
		  "[-NUMBER | -n [+]LINES | -c [+]BYTES] [FILE ...]");
	for (int c; (c = cmd_option("#c:n:")) != -1;) {
		in_bytes = c == 'c';
		from_start = *cmd_value == '+';
		count = cmd_number(cmd_value + from_start, "a number", 0,
				   LONG_MAX);
	}
	cmd_files(tail);
	return cmd_done();
}
