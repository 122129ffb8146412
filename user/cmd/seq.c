/*
 * seq: numbers from the first to the last. Decimals are counted exactly: all
 * are integers here, in units of 10^-MAX_DECIMALS.
 */
#include <string.h>

#include "../cmdlib/cmd.h"

#define MAX_DECIMALS 9
#define MAX_WHOLE    999999999 /* so that no sum overflows */

static int decimals; /* of the finer of the first number and the step */

/* [-]DIGITS[.DIGITS], in units of 10^-MAX_DECIMALS. */
static int64_t
parse(const char *text)
{
	const char *c = text + (*text == '-');
	int64_t value = 0;
	int n = 0;

	if (!*c || (c[0] == '.' && !c[1]))
		cmd_usage("not a number: %s", text);
	for (; *c >= '0' && *c <= '9' && value <= MAX_WHOLE; c++)
		value = value * 10 + *c - '0';
	if (value > MAX_WHOLE)
		cmd_usage("too large: %s", text);
	if (*c == '.') {
		for (c++; *c >= '0' && *c <= '9' && n < MAX_DECIMALS; n++)
			value = value * 10 + *c++ - '0';
	}
	if (*c)
		cmd_usage("not a number: %s", text);
	if (n > decimals)
		decimals = n;
	for (; n < MAX_DECIMALS; n++)
		value *= 10;
	return *text == '-' ? -value : value;
}

/* value as text, with leading zeros to width. Gives the length. */
static int
print(int64_t value, int width, bool visible)
{
	char text[32];
	char *at = text + sizeof(text);
	uint64_t rest = value < 0 ? -value : value;
	int length;

	for (int i = 0; i < MAX_DECIMALS; i++, rest /= 10) {
		if (i >= MAX_DECIMALS - decimals)
			*--at = '0' + rest % 10;
	}
	if (decimals > 0)
		*--at = '.';
	do {
		*--at = '0' + rest % 10;
		rest /= 10;
	} while (rest > 0);
	while (text + sizeof(text) - at < width - (value < 0))
		*--at = '0';
	if (value < 0)
		*--at = '-';
	length = text + sizeof(text) - at;
	if (visible)
		out_bytes(at, length);
	return length;
}

static void
sequence(int64_t first, int64_t step, int64_t last, const char *between)
{
	int width = 0;

	if (cmd_given['w']) {
		int a = print(first, 0, false), b = print(last, 0, false);

		width = a > b ? a : b;
	}
	for (int64_t n = first; step > 0 ? n <= last : n >= last; n += step) {
		if (n != first)
			out_string(between);
		print(n, width, true);
	}
	if (step > 0 ? first <= last : first >= last)
		out_char('\n');
}

int
main(int argc, char **argv)
{
	const char *between = "\n";
	int64_t first, step, last;
	int shown;

	cmd_start(argc, argv, "seq", "[-w] [-s TEXT] [FIRST [STEP]] LAST");
	for (int c; (c = cmd_option("0s:w")) != -1;) {
		if (c == 's')
			between = cmd_value;
	}
	cmd_operands(1, 3);
	first = cmd_argc > 1 ? parse(cmd_argv[0]) : parse("1");
	step = cmd_argc > 2 ? parse(cmd_argv[1]) : parse("1");
	shown = decimals;
	last = parse(cmd_argv[cmd_argc - 1]);
	decimals = shown; /* the last number only bounds */
	if (step == 0)
		cmd_usage("the step is 0");
	sequence(first, step, last, between);
	return cmd_done();
}
