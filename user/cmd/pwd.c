/* pwd: the working directory. */
#include <limits.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

int
main(int argc, char **argv)
{
	char path[PATH_MAX];

	cmd_start(argc, argv, "pwd", "");
	cmd_flags("");
	cmd_operands(0, 0);
	if (!getcwd(path, sizeof(path)))
		cmd_die("working directory");
	out_printf("%s\n", path);
	return cmd_done();
}
