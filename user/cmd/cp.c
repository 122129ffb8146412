/* cp: copy files, and with -r directories. */
#include "../cmdlib/cmd.h"

static unsigned int flags;

static void
copy(const char *from, const char *to)
{
	tree_copy(from, to, flags);
}

int
main(int argc, char **argv)
{
	int c;

	cmd_start(argc, argv, "cp", "[-fpRr] FROM ... TO");
	while ((c = cmd_option("fpRr")) != -1) {
		if (c == 'f')
			flags |= TREE_FORCE;
		else if (c == 'p')
			flags |= TREE_KEEP;
		else
			flags |= TREE_RECURSE;
	}
	cmd_operands(2, CMD_MANY);
	cmd_onto(copy);
	return cmd_done();
}
