/* echo and printf. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sh.h"

#define SPEC_BYTES 32 /* of one conversion: %-20.10ld */

int
builtin_echo(int argc, char **argv)
{
	bool newline = argc < 2 || strcmp(argv[1], "-n") != 0;
	int first = newline ? 1 : 2, i;

	for (i = first; i < argc; i++) {
		if (i > first)
			out_char(' ');
		out_str(argv[i]);
	}
	if (newline)
		out_char('\n');
	return 0;
}

/* What follows a backslash at s; gives where it ends. Up to three octal
 * digits, four if the first is 0 and %b asks. */
static const char *
print_escape(const char *s, bool argument)
{
	static const char letters[] = "abfnrtv\\", codes[] = "\a\b\f\n\r\t\v\\";
	const char *letter = *s ? strchr(letters, *s) : NULL;
	int digits = argument && *s == '0' ? 4 : 3, value = 0;

	if (letter) {
		out_char(codes[letter - letters]);
		return s + 1;
	}
	if (*s < '0' || *s > '7') {
		out_char('\\');
		return s;
	}
	while (digits-- > 0 && *s >= '0' && *s <= '7')
		value = value * 8 + *s++ - '0';
	out_char(value);
	return s;
}

/* The next operand as a number; 'c is the code of c. */
static bool
print_number(const char *arg, const char *spec)
{
	char text[80], *end;
	long value;

	if (*arg == '\'' || *arg == '"') {
		value = (unsigned char)arg[1];
		end = "";
	} else {
		value = strtol(arg, &end, 0);
	}
	snprintf(text, sizeof(text), spec, value);
	out_str(text);
	if (*end)
		shell_warn("printf: %s: bad number", arg);
	return *end == '\0';
}

/* %s with a width and precision. */
static void
print_string(const char *arg, const char *spec)
{
	int n = snprintf(NULL, 0, spec, arg);
	char *text = arena_alloc(scratch, n + 1);

	snprintf(text, n + 1, spec, arg);
	out_str(text);
}

/* One conversion, its text (with the %) of n bytes at s. */
static bool
print_conversion(const char *s, size_t n, const char *arg)
{
	char spec[SPEC_BYTES];

	memcpy(spec, s, n);
	spec[n] = '\0';
	switch (s[n - 1]) {
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		spec[n + 1] = '\0';
		spec[n] = spec[n - 1];
		spec[n - 1] = 'l';
		return print_number(arg ? arg : "0", spec);
	case 'c':
		spec[n - 1] = '\0';
		if (arg && *arg)
			out_char(*arg);
		return true;
	case 'b':
		while (arg && *arg) {
			if (*arg == '\\')
				arg = print_escape(arg + 1, true);
			else
				out_char(*arg++);
		}
		return true;
	case 's':
		print_string(arg ? arg : "", spec);
		return true;
	}
	shell_warn("printf: %s: bad conversion", spec);
	return false;
}

/* The format once through; *args moves past the operands it uses. */
static bool
print_format(const char *s, char ***args)
{
	bool ok = true;

	while (*s) {
		size_t n = 1 + strspn(s + 1, "-+ #0123456789.");

		if (*s == '\\') {
			s = print_escape(s + 1, false);
		} else if (*s != '%') {
			out_char(*s++);
		} else if (s[1] == '%') {
			out_char('%');
			s += 2;
		} else if (!s[n] || n + 3 > SPEC_BYTES) {
			shell_warn("printf: %s: bad conversion", s);
			return false;
		} else {
			ok &= print_conversion(s, n + 1, **args);
			*args += **args != NULL;
			s += n + 1;
		}
	}
	return ok;
}

int
builtin_printf(int argc, char **argv)
{
	char **args = argv + 2, **before;
	bool ok = true;

	if (argc < 2) {
		shell_warn("printf: usage: printf FORMAT [WORD...]");
		return STATUS_USAGE;
	}
	do { /* again while it uses up operands */
		before = args;
		ok &= print_format(argv[1], &args);
	} while (*args && args > before);
	return !ok;
}
