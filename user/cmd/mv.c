/* mv: rename files, or move them into a directory. */
#include <errno.h>
#include <stdio.h>

#include "../cmdlib/cmd.h"

/* Between file systems, a move is a copy and a removal. */
static void
move(const char *from, const char *to)
{
	const unsigned int flags = TREE_RECURSE | TREE_KEEP | TREE_FORCE;

	if (rename(from, to) == 0)
		return;
	if (errno != EXDEV)
		cmd_warn("%s to %s", from, to);
	else if (tree_copy(from, to, flags))
		tree_remove(from, TREE_RECURSE);
}

int
main(int argc, char **argv)
{
	/* -f is how it is: there is no question to suppress. */
	cmd_start(argc, argv, "mv", "[-f] FROM ... TO");
	cmd_flags("f");
	cmd_operands(2, CMD_MANY);
	cmd_onto(move);
	return cmd_done();
}
