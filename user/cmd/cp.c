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

	(void)argc;
	cmd_start("cp", "[-fpRr] FROM ... TO", argv);
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
