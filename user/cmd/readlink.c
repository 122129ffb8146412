/* readlink: print where symbolic links lead. */
#include <stdlib.h>

#include "../cmdlib/cmd.h"

/* No message: scripts ask whether something is a link. */
int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "readlink", "[-n] LINK ...");
	cmd_flags("n");
	cmd_operands(1, CMD_MANY);
	for (char **path = cmd_argv; *path; path++) {
		char *target = cmd_readlink(*path);

		if (!target) {
			cmd_status = cmd_trouble;
			continue;
		}
		out_string(target);
		if (!cmd_given['n'])
			out_char('\n');
		free(target);
	}
	return cmd_done();
}
