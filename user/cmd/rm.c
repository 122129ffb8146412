/* rm: remove files, and with -r directories and all they hold. */
#include <string.h>

#include "../cmdlib/cmd.h"

/* `.`, `..` and `/` are slips of the finger, never what was meant. */
static bool
is_protected(const char *path)
{
	const char *end = path + strlen(path);
	const char *base;

	while (end > path && end[-1] == '/')
		end--;
	if (end == path)
		return *path == '/';
	for (base = end; base > path && base[-1] != '/'; base--)
		;
	return (end - base == 1 && base[0] == '.') ||
	       (end - base == 2 && base[0] == '.' && base[1] == '.');
}

int
main(int argc, char **argv)
{
	unsigned int flags = 0;
	int c;

	cmd_start(argc, argv, "rm", "[-firR] FILE ...");
	while ((c = cmd_option("firR")) != -1) {
		if (c == 'f')
			flags = (flags & ~TREE_ASK) | TREE_MISSING;
		else if (c == 'i')
			flags = (flags & ~TREE_MISSING) | TREE_ASK;
		else
			flags |= TREE_RECURSE;
	}
	cmd_operands(flags & TREE_MISSING ? 0 : 1, CMD_MANY);
	for (char **path = cmd_argv; *path; path++) {
		if (is_protected(*path))
			cmd_error("%s: can't remove ., .. or /", *path);
		else
			tree_remove(*path, flags);
	}
	return cmd_done();
}
