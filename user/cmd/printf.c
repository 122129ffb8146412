/*
 * printf: write arguments as a format says. The format is used again as
 * long as there are arguments; those that lack are empty, or 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmdlib/cmd.h"

#define OCTAL    3  /* digits; 4 in an argument, if the first is a 0 */
#define SPEC_MAX 32 /* of a conversion, with the length we add */

static char **arguments;

static const char *
next_argument(const char *otherwise)
{
	return *arguments ? *arguments++ : otherwise;
}

static long long
next_number(void)
{
	const char *text = next_argument("0");
	char *end;
	long long n;

	if (*text == '\'' || *text == '"')
		return (unsigned char)text[1];
	errno = 0;
	/* Unsigned numbers have one bit more. */
	n = *text == '-' ? strtoll(text, &end, 0)
			 : (long long)strtoull(text, &end, 0);
	if (errno)
		cmd_warn("%s", text);
	else if (*end || end == text)
		cmd_error("not a number: %s", text);
	return n;
}

/* Write the escape at text, behind its backslash; gives what follows. At \c
 * the output ends. */
static const char *
print_escape(const char *text, int digits)
{
	int c;

	if (*text == 'c')
		exit(cmd_done());
	c = cmd_escape(&text, digits);
	out_char(c < 0 ? '\\' : c);
	return text;
}

static void
print_with_escapes(const char *text)
{
	while (*text) {
		char c = *text++;

		if (c == '\\')
			text = print_escape(text, OCTAL + (*text == '0'));
		else
			out_char(c);
	}
}

/* The conversion of `flags`, which has width and precision written out, but
 * neither length nor letter. */
static void
print_argument(const char *flags, char letter)
{
	char spec[SPEC_MAX];
	const char *number = strchr("diouxX", letter) ? "ll" : "";

	snprintf(spec, sizeof(spec), "%s%s%c", flags, number, letter);
	if (*number)
		out_printf(spec, next_number());
	else if (letter == 's')
		out_printf(spec, next_argument(""));
	else if (letter == 'c')
		out_printf(spec, *next_argument(""));
	else
		out_printf(spec, strtod(next_argument("0"), NULL));
}

/* The conversion at text, behind its percent sign; gives what follows. */
static const char *
print_conversion(const char *text)
{
	char flags[SPEC_MAX - 4] = "%";
	size_t n = 1;

	while (*text && strchr("-+ #0123456789.*", *text)) {
		if (*text == '*')
			n += snprintf(flags + n, sizeof(flags) - n, "%d",
				      (int)next_number());
		else
			flags[n++] = *text;
		if (n < sizeof(flags))
			flags[n] = '\0';
		else
			cmd_usage("a conversion too long");
		text++;
	}
	if (*text == '%')
		out_char('%');
	else if (*text == 'b')
		print_with_escapes(next_argument(""));
	else if (*text && strchr("diouxXscaAeEfFgG", *text))
		print_argument(flags, *text);
	else
		cmd_usage("unknown conversion %%%c", *text ? *text : ' ');
	return text + 1;
}

static void
print(const char *format)
{
	while (*format) {
		if (*format == '\\')
			format = print_escape(format + 1, OCTAL);
		else if (*format == '%')
			format = print_conversion(format + 1);
		else
			out_char(*format++);
	}
}

int
main(int argc, char **argv)
{
	char **before;

	cmd_start(argc, argv, "printf", "FORMAT [ARGUMENT ...]");
	cmd_option("+");
	cmd_operands(1, CMD_MANY);
	arguments = cmd_argv + 1;
	do {
		before = arguments;
		print(cmd_argv[0]);
	} while (*arguments && arguments > before);
	return cmd_done();
}
