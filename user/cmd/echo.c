/* echo: write the arguments. -n leaves out the newline, -e takes escapes. */
#include <string.h>

#include "../cmdlib/cmd.h"

/* Write text with its escapes; false at \c, which ends the output. */
static bool
write_escaped(const char *text)
{
	static const char letters[] = "abefnrtv\\";
	static const char values[] = "\a\b\033\f\n\r\t\v\\";

	for (; *text; text++) {
		const char *letter;

		if (text[0] != '\\' || text[1] == '\0') {
			out_char(*text);
			continue;
		}
		text++;
		letter = strchr(letters, *text);
		if (*text == 'c')
			return false;
		if (*text == '0') {
			int value = 0;

			for (int i = 0; i < 3 && strchr("01234567", text[1]) &&
					text[1];
			     i++)
				value = value * 8 + *++text - '0';
			out_char(value);
		} else if (letter) {
			out_char(values[letter - letters]);
		} else {
			out_char('\\');
			out_char(*text);
		}
	}
	return true;
}

/* Only an argument made of known letters is an option: the rest is text. */
static bool
is_option(const char *arg)
{
	return arg && arg[0] == '-' && arg[1] && arg[1 + strspn(arg + 1, "ne")]
			== '\0';
}

int
main(int argc, char **argv)
{
	bool newline = true, escapes = false;

	(void)argc;
	cmd_start("echo", "[-ne] [STRING ...]", argv);
	for (argv++; is_option(*argv); argv++) {
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
