/*
 * printf: write arguments as a format says. The format is used again as
 * long as there are arguments; those that lack are empty, or 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmdlib/cmd.h"

#define OCTAL     3 /* digits; 4 in an argument, if the first is a 0 */
#define FLAGS     "-+ #0"
#define WIDTH_MAX 1000000 /* or precision: it's in memory at once */
#define SPEC_MAX  64      /* a conversion: flags, two numbers and the rest */

static char **arguments;

static const char *
next_argument(const char *otherwise)
{
	return *arguments ? *arguments++ : otherwise;
}

/* Complain unless strtoll or one of its kind has taken all of text. */
static void
check_number(const char *text, const char *end)
{
	if (errno)
		cmd_warn("%s", text);
	else if (*end || end == text)
		cmd_error("not a number: %s", text);
}

/* For a conversion that is signed, or has one bit more. */
static long long
next_number(bool is_signed)
{
	const char *text = next_argument("0");
	char *end;
	long long n;

	if (*text == '\'' || *text == '"')
		return (unsigned char)text[1];
	errno = 0;
	n = is_signed || *text == '-' ? strtoll(text, &end, 0)
				      : (long long)strtoull(text, &end, 0);
	check_number(text, end);
	return n;
}

static double
next_decimal(void)
{
	const char *text = next_argument("0");
	char *end;
	double n;

	if (*text == '\'' || *text == '"')
		return (unsigned char)text[1];
	errno = 0;
	n = strtod(text, &end);
	check_number(text, end);
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

/* A conversion of its flags, width (0: none), precision (below 0: none) and
 * letter. */
static void
print_argument(const char *flags, long width, long precision, char letter)
{
	char spec[SPEC_MAX];
	const char *number = strchr("diouxX", letter) ? "ll" : "";
	size_t n = snprintf(spec, sizeof(spec), "%%%s", flags);

	if (width != 0)
		n += snprintf(spec + n, sizeof(spec) - n, "%ld", width);
	if (precision >= 0)
		n += snprintf(spec + n, sizeof(spec) - n, ".%ld", precision);
	snprintf(spec + n, sizeof(spec) - n, "%s%c", number, letter);
	if (*number)
		out_printf(spec, next_number(strchr("di", letter)));
	else if (letter == 's')
		out_printf(spec, next_argument(""));
	else if (letter == 'c')
		out_printf(spec, *next_argument(""));
	else
		out_printf(spec, next_decimal());
}

/* The width or precision at text, which may be an argument; 0 if there is none.
 * Gives what follows. */
static const char *
measure(const char *text, long *n)
{
	const char *end = text + 1;

	*n = 0;
	if (*text == '*') {
		text = next_argument("0");
		if (!number_read(text, 10, -WIDTH_MAX, WIDTH_MAX, n))
			end = NULL;
	} else {
		end = text + strspn(text, "0123456789");
		if (end > text && !number_start(text, 10, 0, WIDTH_MAX, n))
			end = NULL;
	}
	if (!end)
		cmd_usage("not a width or precision up to %d: %s", WIDTH_MAX,
			  text);
	return end;
}

/* The conversion at text, behind its percent sign; gives what follows. */
static const char *
print_conversion(const char *text)
{
	char flags[sizeof(FLAGS)] = ""; /* each once */
	long width, precision = -1;

	for (; *text && strchr(FLAGS, *text); text++)
		if (!strchr(flags, *text))
			flags[strlen(flags)] = *text;
	text = measure(text, &width);
	if (*text == '.')
		text = measure(text + 1, &precision);
	if (*text == '%')
		out_char('%');
	else if (*text == 'b')
		print_with_escapes(next_argument(""));
	else if (*text && strchr("diouxXscaAeEfFgG", *text))
		print_argument(flags, width, precision, *text);
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
