/* cut: parts of each line. */
#include <stdlib.h>
#include <string.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS "-b LIST | -c LIST | -f LIST [-d CHAR] [-s] [FILE ...]"

/* From first to last, counted from 1. */
struct range {
	size_t first, last;
};

static struct range *ranges; /* in order, none touching another */
static size_t ranges_count, ranges_room;
static char delimiter = '\t';

static int
range_compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

/* N, N-M, N- or -M. */
static struct range
parse_range(const char *text)
{
	long first = 1, last = LONG_MAX;
	const char *end = text;

	if (*text != '-' || !text[1])
		end = number_start(text, 10, 1, LONG_MAX, &first);
	if (end && *end != '-')
		last = first;
	else if (end && *++end)
		end = number_start(end, 10, first, LONG_MAX, &last);
	if (!end || *end)
		cmd_usage("not a list: %s", text);
	return (struct range){first, last};
}

static void
parse_list(char *text)
{
	size_t kept = 0;
	char *word;

	while ((word = cmd_piece(&text, ", "))) {
		if (ranges_count == ranges_room)
			ranges = cmd_grow(ranges, &ranges_room,
					  sizeof(*ranges));
		ranges[ranges_count++] = parse_range(word);
	}
	qsort(ranges, ranges_count, sizeof(*ranges), range_compare);
	for (size_t i = 1; i < ranges_count; i++) {
		if (ranges[i].first - 1 > ranges[kept].last)
			ranges[++kept] = ranges[i];
		else if (ranges[i].last > ranges[kept].last)
			ranges[kept].last = ranges[i].last;
	}
	ranges_count = kept + 1;
}

static void
cut_bytes(const char *line, size_t length)
{
	for (size_t i = 0; i < ranges_count; i++) {
		const struct range *r = &ranges[i];
		size_t last = r->last < length ? r->last : length;

		if (r->first > length)
			break;
		out_bytes(line + r->first - 1, last - r->first + 1);
	}
	out_char('\n');
}

static void
cut_fields(const char *line, size_t length)
{
	const char *end = line + length;
	const struct range *r = ranges;
	bool begun = false;

	if (!memchr(line, delimiter, length)) {
		if (!cmd_given['s']) {
			out_bytes(line, length);
			out_char('\n');
		}
		return;
	}
	for (size_t field = 1; r < ranges + ranges_count; field++) {
		const char *next = memchr(line, delimiter, end - line);

		if (!next)
			next = end;
		if (field >= r->first) {
			if (begun)
				out_char(delimiter);
			begun = true;
			out_bytes(line, next - line);
		}
		if (field == r->last)
			r++;
		if (next == end)
			break;
		line = next + 1;
	}
	out_char('\n');
}

static void
cut(int fd, const char *name)
{
	struct lines in;
	size_t length;
	char *line;

	lines_open(&in, fd, name);
	while ((line = lines_next(&in, &length))) {
		if (cmd_given['f'])
			cut_fields(line, length);
		else
			cut_bytes(line, length);
	}
	lines_close(&in);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "cut", SYNOPSIS);
	for (int c; (c = cmd_option("b:c:d:f:s")) != -1;) {
		if (c == 'd' && strlen(cmd_value) != 1)
			cmd_usage("not one character: %s", cmd_value);
		else if (c == 'd')
			delimiter = *cmd_value;
		else if (c != 's')
			parse_list(cmd_value);
	}
	if (cmd_given['b'] + cmd_given['c'] + cmd_given['f'] != 1)
		cmd_usage("give exactly one of -b, -c and -f");
	if (!cmd_given['f'] && (cmd_given['d'] || cmd_given['s']))
		cmd_usage("-d and -s need -f");
	cmd_files(cut);
	return cmd_done();
}
