/* echo: write the arguments. -n leaves out the newline, -e takes escapes. */
#include <string.h>

#include "../cmdlib/cmd.h"

#define OCTAL 4 /* digits, of which the first is a 0 */

/* Write text with its escapes; false at \c, which ends the output. */
static bool
write_escaped(const char *text)
{
	while (*text) {
		char c = *text++;
		int escape = -1;

		if (c == '\\' && *text == 'c')
			return false;
		if (c == '\\')
			escape = cmd_escape(&text, *text == '0' ? OCTAL : 0);
		out_char(escape < 0 ? c : escape);
	}
	return true;
}

/* Only an argument made of known letters is an option: the rest is text. */
static bool
is_option(const char *arg)
{
	return arg && arg[0] == '-' && arg[1] &&
	       arg[1 + strspn(arg + 1, "ne")] == '\0';
}

int
main(int argc, char **argv)
{
	bool newline = true, escapes = false;

	cmd_start(argc, argv, "echo", "[-ne] [STRING ...]");
	for (argv = cmd_argv; is_option(*argv); argv++) {
		newline = newline && !strchr(*argv, 'n');
		escapes = escapes || strchr(*argv, 'e');
	}
	for (; *argv; argv++) {
		if (!escapes)
			out_string(*argv);
		else if (!write_escaped(*argv))
			return cmd_done();
		if (argv[1])
			out_char(' ');
	}
	if (newline)
		out_char('\n');
	return cmd_done();
}
