/* basename: the last component of a path, perhaps without a suffix. */
#include <string.h>

#include "../cmdlib/cmd.h"

int
main(int argc, char **argv)
{
	size_t length, suffix;
	char *base;

	cmd_start(argc, argv, "basename", "PATH [SUFFIX]");
	cmd_flags("");
	cmd_operands(1, 2);
	tree_trim(cmd_argv[0]);
	base = cmd_argv[0];
	if (strcmp(base, "/") != 0)
		base = (char *)cmd_base(base);
	length = strlen(base);
	suffix = cmd_argc > 1 ? strlen(cmd_argv[1]) : 0;
	if (suffix > 0 && suffix < length &&
	    memcmp(base + length - suffix, cmd_argv[1], suffix) == 0)
		length -= suffix;
	out_bytes(base, length);
	out_char('\n');
	return cmd_done();
}
