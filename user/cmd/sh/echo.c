/*
 * echo, as a builtin because scripts use it so much. It does what /bin/echo
 * does: -n leaves out the newline, -e takes escapes.
 */
#include <string.h>

#include "sh.h"

#define OCTAL_DIGITS 4 /* of which the first is a 0 */

/* Print the escape whose backslash is before s; gives what follows it, or
 * NULL after \c, which ends the output. */
static const char *
echo_escape(const char *s)
{
	static const char letters[] = "abfnrtv\\", codes[] = "\a\b\f\n\r\t\v\\";
	const char *letter = *s ? strchr(letters, *s) : NULL;
	int digits = *s == '0' ? OCTAL_DIGITS : 0, value = 0;

	if (*s == 'c')
		return NULL;
	if (letter)
		value = codes[letter - letters];
	else if (digits == 0)
		value = '\\';
	for (; digits > 0 && *s >= '0' && *s <= '7'; digits--)
		value = value * 8 + *s++ - '0';
	out_char(value);
	return s + (letter != NULL);
}

static bool
echo_escaped(const char *s)
{
	while (s && *s) {
		if (*s == '\\')
			s = echo_escape(s + 1);
		else
			out_char(*s++);
	}
	return s != NULL;
}

int
builtin_echo(int argc, char **argv)
{
	bool newline = true, escapes = false;
	int i = 1;

	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		if (argv[i][1 + strspn(argv[i] + 1, "ne")])
			break; /* it's text */
		newline &= strchr(argv[i], 'n') == NULL;
		escapes |= strchr(argv[i], 'e') != NULL;
	}
	for (; i < argc; i++) {
		if (escapes && !echo_escaped(argv[i]))
			return 0;
		if (!escapes)
			out_str(argv[i]);
		if (i + 1 < argc)
			out_char(' ');
	}
	if (newline)
		out_char('\n');
	return 0;
}
