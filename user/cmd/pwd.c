/* pwd: the working directory. */
#include <unistd.h>

#include "../cmdlib/cmd.h"

int
main(int argc, char **argv)
{
	char *path;

	cmd_start(argc, argv, "pwd", "");
	cmd_flags("");
	cmd_operands(0, 0);
	path = getcwd(NULL, 0);
	if (!path)
		cmd_die("working directory");
	out_printf("%s\n", path);
	return cmd_done();
}
