/* yes: say the same, over and over. */
#include "../cmdlib/cmd.h"

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "yes", "[STRING ...]");
	cmd_flags("");
	for (;;) {
		out_string(cmd_argc ? cmd_argv[0] : "y");
		for (int i = 1; i < cmd_argc; i++)
			out_printf(" %s", cmd_argv[i]);
		out_char('\n');
	}
}
