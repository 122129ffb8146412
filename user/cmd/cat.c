/* cat: copy files to standard output. */
#include "../cmdlib/cmd.h"

static unsigned long line; /* goes on from file to file */
static bool in_line;       /* its number is printed */

static void
copy_numbered(int fd, const char *name)
{
	static char buf[CMD_BUFFER];
	ssize_t n;

	while ((n = cmd_read(fd, buf, sizeof(buf), name)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (!in_line)
				out_printf("%6lu\t", ++line);
			in_line = buf[i] != '\n';
			out_char(buf[i]);
		}
	}
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "cat", "[-n] [FILE ...]");
	cmd_flags("n");
	cmd_files(cmd_given['n'] ? copy_numbered : out_copy);
	return cmd_done();
}
