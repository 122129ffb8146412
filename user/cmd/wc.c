/* wc: count lines, words and bytes. */
#include <string.h>

#include "../cmdlib/cmd.h"

struct counts {
	unsigned long lines, words, bytes;
};

static struct counts total;
static bool padded; /* in columns */
static bool space[256];

static void
count_lines(const char *buf, size_t size, struct counts *counts)
{
	const char *end = buf + size;

	while ((buf = memchr(buf, '\n', end - buf))) {
		counts->lines++;
		buf++;
	}
}

/* Lines and words: a word begins where a space comes before. *after_space
 * remembers that from block to block. */
static void
count_words(const char *buf, size_t size, struct counts *counts,
	    bool *after_space)
{
	unsigned long lines = 0, words = 0;
	bool before = *after_space;

	for (size_t i = 0; i < size; i++) {
		bool now = space[(unsigned char)buf[i]];

		words += before & !now;
		lines += buf[i] == '\n';
		before = now;
	}
	*after_space = before;
	counts->words += words;
	counts->lines += lines;
}

static void
print(const struct counts *counts, const char *name)
{
	const int width = padded ? 7 : 0;
	const char *gap = "";

	if (cmd_given['l']) {
		out_printf("%*lu", width, counts->lines);
		gap = " ";
	}
	if (cmd_given['w']) {
		out_printf("%s%*lu", gap, width, counts->words);
		gap = " ";
	}
	if (cmd_given['c'])
		out_printf("%s%*lu", gap, width, counts->bytes);
	if (cmd_argc > 0) {
		out_char(' ');
		out_path(name);
	}
	out_char('\n');
}

static void
count(int fd, const char *name)
{
	static char buf[CMD_BUFFER];
	struct counts counts = {0};
	bool after_space = true;
	ssize_t n;

	while ((n = cmd_read(fd, buf, sizeof(buf), name)) > 0) {
		counts.bytes += n;
		if (cmd_given['w'])
			count_words(buf, n, &counts, &after_space);
		else if (cmd_given['l'])
			count_lines(buf, n, &counts);
	}
	print(&counts, name);
	total.lines += counts.lines;
	total.words += counts.words;
	total.bytes += counts.bytes;
}

int
main(int argc, char **argv)
{
	int columns;

	cmd_start(argc, argv, "wc", "[-clw] [FILE ...]");
	cmd_flags("clw");
	columns = cmd_given['c'] + cmd_given['l'] + cmd_given['w'];
	if (columns == 0)
		cmd_given['c'] = cmd_given['l'] = cmd_given['w'] = true;
	padded = columns != 1 || cmd_argc > 1;
	for (const char *c = " \t\n\v\f\r"; *c; c++)
		space[(unsigned char)*c] = true;
	cmd_files(count);
	if (cmd_argc > 1)
		print(&total, "total");
	return cmd_done();
}
