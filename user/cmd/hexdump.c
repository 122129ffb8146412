/*
 * hexdump: files as hexadecimal numbers, 16 bytes a line: as 16-bit words,
 * or with -C byte by byte and as text beside. All operands are one stream.
 * A line like the one before it is not shown, nor those that follow, but for
 * a `*` in their place.
 */
#include <string.h>

#include "../cmdlib/cmd.h"

#define ROW 16 /* bytes on a line */

static unsigned char row[ROW], previous[ROW];
static size_t filled;        /* bytes in row */
static bool have_previous;   /* a full row was shown */
static bool any;             /* byte was shown */
static bool squeezed;        /* its likes were left out */
static unsigned long offset; /* of row in the stream */
static unsigned long skip;   /* bytes to go until what is wanted */
static unsigned long left = (unsigned long)-1; /* bytes wanted */

static void
print_words(void)
{
	out_printf("%07lx", offset);
	for (size_t i = 0; i < filled; i += 2) {
		unsigned int high = i + 1 < filled ? row[i + 1] : 0;

		out_printf(" %04x", high << 8 | row[i]);
	}
}

static void
print_canonical(void)
{
	out_printf("%08lx ", offset);
	for (size_t i = 0; i < ROW; i++) {
		if (i % 8 == 0)
			out_char(' ');
		if (i < filled)
			out_printf("%02x ", row[i]);
		else
			out_string("   ");
	}
	out_string(" |");
	for (size_t i = 0; i < filled; i++)
		out_char(row[i] >= ' ' && row[i] <= '~' ? row[i] : '.');
	out_char('|');
}

static void
print_row(void)
{
	bool same = have_previous && filled == ROW && !cmd_given['v'] &&
		    memcmp(row, previous, ROW) == 0;

	if (!same) {
		if (cmd_given['C'])
			print_canonical();
		else
			print_words();
		out_char('\n');
		memcpy(previous, row, ROW);
		have_previous = filled == ROW;
	} else if (!squeezed) {
		out_string("*\n");
	}
	squeezed = same;
	offset += filled;
	filled = 0;
}

static void
dump(int fd, const char *name)
{
	static unsigned char buf[CMD_BUFFER];
	ssize_t n;

	while (left > 0 && (n = cmd_read(fd, buf, sizeof(buf), name)) > 0) {
		for (ssize_t i = 0; i < n && left > 0; i++) {
			if (skip > 0) {
				skip--;
				continue;
			}
			any = true;
			row[filled++] = buf[i];
			left--;
			if (filled == ROW)
				print_row();
		}
	}
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "hexdump",
		  "[-Cv] [-n LENGTH] [-s SKIP] [FILE ...]");
	for (int c; (c = cmd_option("Cn:s:v")) != -1;) {
		if (c == 'n')
			left = cmd_number(cmd_value, "a length", 0, LONG_MAX);
		else if (c == 's')
			skip = cmd_number(cmd_value, "a number of bytes", 0,
					  LONG_MAX);
	}
	offset = skip;
	cmd_files(dump);
	if (filled > 0)
		print_row();
	if (any)
		out_printf(cmd_given['C'] ? "%08lx\n" : "%07lx\n", offset);
	return cmd_done();
}
