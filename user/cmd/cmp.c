/* cmp: do two files hold the same? */
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 }; /* exit status */

struct side {
	int fd;
	const char *name;
	size_t at, end; /* of what is unread in buf */
	char buf[CMD_BUFFER];
};

static unsigned long byte = 1, line = 1; /* compared next; it is on */

/* Bytes at hand, after a read if there were none; 0 at the end. */
static size_t
available(struct side *s)
{
	ssize_t n;

	if (s->at < s->end)
		return s->end - s->at;
	n = cmd_read(s->fd, s->buf, sizeof(s->buf), s->name);
	if (n < 0)
		_exit(TROUBLE);
	s->at = 0;
	s->end = n;
	return n;
}

static void
open_side(struct side *s, const char *name)
{
	s->name = name;
	s->fd = cmd_open(name);
	if (s->fd < 0)
		_exit(TROUBLE);
}

/* One file ended; the other, with `more` bytes at hand, may not have. */
static int
ended(const struct side *s, size_t more)
{
	if (more == 0)
		return SAME;
	if (!cmd_given['s'])
		cmd_error("end of %s after byte %lu, line %lu", s->name,
			  byte - 1, line);
	return DIFFERENT;
}

/* Compare n bytes, one by one. False: a difference ends the comparison. */
static bool
compare(const struct side *a, const struct side *b, size_t n, int *status)
{
	for (size_t i = 0; i < n; i++, byte++) {
		unsigned char x = a->buf[a->at + i], y = b->buf[b->at + i];

		if (x == y) {
			line += x == '\n';
			continue;
		}
		*status = DIFFERENT;
		if (cmd_given['l']) {
			out_printf("%6lu %3o %3o\n", byte, x, y);
			continue;
		}
		if (!cmd_given['s']) {
			out_path(a->name);
			out_char(' ');
			out_path(b->name);
			out_printf(" differ: byte %lu, line %lu\n", byte, line);
		}
		return false;
	}
	return true;
}

static int
compare_files(struct side *a, struct side *b)
{
	int status = SAME;

	for (;;) {
		size_t in_a = available(a), in_b = available(b);
		size_t n = in_a < in_b ? in_a : in_b;

		if (in_a == 0)
			return status | ended(a, in_b);
		if (in_b == 0)
			return status | ended(b, in_a);
		if (!compare(a, b, n, &status))
			return status;
		a->at += n;
		b->at += n;
	}
}

int
main(int argc, char **argv)
{
	static struct side a, b;
	int status;

	cmd_trouble = TROUBLE;
	cmd_start(argc, argv, "cmp", "[-l | -s] FILE FILE");
	cmd_flags("ls");
	cmd_operands(2, 2);
	open_side(&a, cmd_argv[0]);
	open_side(&b, cmd_argv[1]);
	status = compare_files(&a, &b);
	out_flush();
	return status;
}
