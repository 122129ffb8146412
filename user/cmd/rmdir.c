/* rmdir: remove empty directories. */
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

/* Remove path, and with -p then the directories it names on the way. */
static void
remove_directory(char *path)
{
	char *slash;

	do {
		if (rmdir(path) < 0) {
			cmd_warn("%s", path);
			return;
		}
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (cmd_given['p'] && slash && *path);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "rmdir", "[-p] DIRECTORY ...");
	cmd_flags("p");
	cmd_operands(1, CMD_MANY);
	for (char **path = cmd_argv; *path; path++)
		remove_directory(*path);
	return cmd_done();
}
