/* tee: copy standard input to standard output and to files. */
#include <fcntl.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

int
main(int argc, char **argv)
{
	int *fds, how = O_WRONLY | O_CREAT;
	ssize_t n;

	cmd_start(argc, argv, "tee", "[-a] [FILE ...]");
	cmd_flags("a");
	how |= cmd_given['a'] ? O_APPEND : O_TRUNC;
	fds = cmd_alloc(cmd_argc * sizeof(*fds));
	for (int i = 0; i < cmd_argc; i++) {
		fds[i] = open(cmd_argv[i], how, 0666);
		if (fds[i] < 0)
			cmd_warn("%s", cmd_argv[i]);
	}
	while ((n = cmd_read(STDIN_FILENO, out.buf, CMD_BUFFER, "-")) > 0) {
		for (int i = 0; i < cmd_argc; i++) {
			if (fds[i] < 0 || out_direct(fds[i], out.buf, n))
				continue;
			cmd_warn("%s", cmd_argv[i]);
			fds[i] = -1; /* given up, the others go on */
		}
		out.used = n;
		out_flush();
	}
	return cmd_done();
}
