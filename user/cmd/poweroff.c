/* poweroff: turn the machine off. */
#include <sys/sysinfo.h>

#include "../cmdlib/cmd.h"

int
main(int argc, char **argv)
{
	int status = 0;

	cmd_start(argc, argv, "poweroff", "[STATUS]");
	cmd_flags("");
	cmd_operands(0, 1);
	if (cmd_argc > 0)
		status = cmd_number(cmd_argv[0], "a status", 0, 255);
	poweroff(status);
}
