/* clear: clear the screen. */
#include "../cmdlib/cmd.h"

#define HOME_AND_ERASE "\033[H\033[2J"

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "clear", "");
	cmd_flags("");
	cmd_operands(0, 0);
	out_string(HOME_AND_ERASE);
	return cmd_done();
}
