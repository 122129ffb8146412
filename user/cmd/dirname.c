/* dirname: a path without its last component. */
#include <string.h>

#include "../cmdlib/cmd.h"

static const char *
parent(char *path)
{
	char *base;

	tree_trim(path);
	base = (char *)cmd_base(path);
	if (base == path)
		return ".";
	if (base == path + 1)
		return "/";
	*base = '\0';
	tree_trim(path);
	return path;
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "dirname", "PATH ...");
	cmd_flags("");
	cmd_operands(1, CMD_MANY);
	for (char **path = cmd_argv; *path; path++)
		out_printf("%s\n", parent(*path));
	return cmd_done();
}
