/* mkdir: make directories. */
#include <string.h>
#include <sys/stat.h>

#include "../cmdlib/cmd.h"

#define EVERYONE 0777 /* less the umask */

/* Make each directory on the way to path; those that exist are fine. */
static void
make_parents(char *path)
{
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		/* The last mkdir says what is wrong, if it still is. */
		mkdir(path, EVERYONE);
		*slash = '/';
	}
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "mkdir", "[-p] DIRECTORY ...");
	cmd_flags("p");
	cmd_operands(1, CMD_MANY);
	for (char **path = cmd_argv; *path; path++) {
		if (cmd_given['p'])
			make_parents(*path);
		/* Asked first, so that errno is mkdir's. */
		if (cmd_given['p'] && is_directory(*path))
			continue;
		if (mkdir(*path, EVERYONE) < 0)
			cmd_warn("%s", *path);
	}
	return cmd_done();
}
