/* env: run a command in another environment, or print this one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS "[-i] [-u NAME] ... [NAME=VALUE ...] [COMMAND [ARGUMENT ...]]"

int
main(int argc, char **argv)
{
	static char *nothing[] = {NULL};
	char **arg;

	cmd_start(argc, argv, "env", SYNOPSIS);
	for (int c; (c = cmd_option("+iu:")) != -1;) {
		if (c == 'i')
			environ = nothing;
		else if (unsetenv(cmd_value) < 0)
			cmd_usage("not a name: %s", cmd_value);
	}
	for (arg = cmd_argv; *arg && strchr(*arg, '='); arg++) {
		if (putenv(*arg) != 0)
			cmd_die("%s", *arg);
	}
	if (*arg)
		cmd_exec(arg);
	for (char **variable = environ; *variable; variable++) {
		out_string(*variable);
		out_char('\n');
	}
	return cmd_done();
}
