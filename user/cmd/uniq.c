/* uniq: leave out lines that repeat the one before. */
#include <fcntl.h>
#include <string.h>

#include "../cmdlib/cmd.h"

static char *held; /* a line, and how often it was seen */
static size_t held_length, held_room;
static unsigned long held_count;

static void
hold(const char *line, size_t length)
{
	while (held_room < length)
		held = cmd_grow(held, &held_room, 1);
	memcpy(held, line, length);
	held_length = length;
	held_count = 1;
}

static void
print_held(void)
{
	if (held_count == 0 || (cmd_given['d'] && held_count == 1) ||
	    (cmd_given['u'] && held_count > 1))
		return;
	if (cmd_given['c'])
		out_printf("%7lu ", held_count);
	out_bytes(held, held_length);
	out_char('\n');
}

int
main(int argc, char **argv)
{
	struct lines in;
	size_t length;
	char *line;
	int fd;

	cmd_start(argc, argv, "uniq", "[-cdu] [INPUT [OUTPUT]]");
	cmd_flags("cdu");
	cmd_operands(0, 2);
	fd = cmd_open(cmd_argc > 0 ? cmd_argv[0] : "-");
	if (fd < 0)
		return cmd_done();
	if (cmd_argc > 1)
		out.fd = open(cmd_argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (out.fd < 0)
		cmd_die("%s", cmd_argv[1]);
	lines_open(&in, fd, cmd_argc > 0 ? cmd_argv[0] : "-");
	while ((line = lines_next(&in, &length))) {
		if (held_count > 0 && length == held_length &&
		    memcmp(line, held, length) == 0) {
			held_count++;
			continue;
		}
		print_held();
		hold(line, length);
	}
	print_held();
	return cmd_done();
}
