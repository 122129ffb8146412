/* head: the first lines, or bytes, of files. */
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

static unsigned long limit = 10;
static bool in_bytes;

/* How many of the size bytes at buf are still wanted; fewer than size only
 * if the last of them is among those. */
static size_t
wanted(const char *buf, size_t size, unsigned long *left)
{
	const char *at = buf, *end = buf + size;

	if (in_bytes) {
		size = *left < size ? *left : size;
		*left -= size;
		return size;
	}
	while (*left > 0 && (at = memchr(at, '\n', end - at))) {
		at++;
		--*left;
	}
	return at ? (size_t)(at - buf) : size;
}

static void
head(int fd, const char *name)
{
	static char buf[CMD_BUFFER];
	static bool begun;
	unsigned long left = limit;
	ssize_t n;

	if (cmd_argc > 1) {
		out_string(begun ? "\n==> " : "==> ");
		out_path(cmd_title(name));
		out_string(" <==\n");
	}
	begun = true;
	while (left > 0 && (n = cmd_read(fd, buf, sizeof(buf), name)) > 0)
		out_bytes(buf, wanted(buf, n, &left));
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "head",
		  "[-NUMBER | -n LINES | -c BYTES] [FILE ...]");
	for (int c; (c = cmd_option("#c:n:")) != -1;) {
		limit = cmd_number(cmd_value, "a number", 0, LONG_MAX);
		in_bytes = c == 'c';
	}
	cmd_files(head);
	return cmd_done();
}
