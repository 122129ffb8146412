/*
 * grep: print the lines that match a pattern.
 *
 * Patterns are regular expressions of the C library's, but text without
 * special characters is searched for directly, which is much faster.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS "[-cEFHhilnoqrvw] [-e PATTERN] ... [PATTERN] [FILE ...]"

#define NESTED_MAX 10000 /* parentheses at once, in an expression */

enum { MATCHED = 0, UNMATCHED = 1, TROUBLE = 2 }; /* exit status */

struct pattern {
	const char *text;
	size_t length;
	bool plain; /* text itself, not regex, is searched for */
	regex_t regex;
};

static struct pattern *patterns;
static size_t patterns_count, patterns_room;
static bool named;    /* each line is preceded by the file's name */
static bool selected; /* some line was */

/* --- Patterns --- */

static bool
is_plain(const char *text)
{
	if (cmd_given['i'])
		return false;
	return cmd_given['F'] || !text[strcspn(text, "\\[]()*.^$+?{}|")];
}

/* A regular expression for exactly this text: each special character in
 * brackets, which have no power over ^ and backslash. */
static char *
quoted(const char *text)
{
	char *result = cmd_alloc(strlen(text) * 3 + 1);
	char *to = result;

	for (; *text; text++) {
		if (strchr("^\\", *text)) {
			*to++ = '\\';
			*to++ = *text;
		} else if (strchr("[]()*.$+?{}|", *text)) {
			*to++ = '[';
			*to++ = *text;
			*to++ = ']';
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
	return result;
}

/* The library would run out of stack, of which it needs some for each. */
static bool
too_deep(const char *text)
{
	long open = 0;

	for (; *text && open <= NESTED_MAX; text++)
		open += (*text == '(') - (*text == ')' && open > 0);
	return open > NESTED_MAX;
}

static void
compile(struct pattern *p)
{
	int flags = (cmd_given['i'] ? REG_ICASE : 0) |
		    (cmd_given['E'] ? REG_EXTENDED : 0);
	const char *text = p->text;
	char why[100];
	int code;

	p->length = strlen(text);
	p->plain = is_plain(text);
	if (p->plain)
		return;
	if (cmd_given['F']) {
		text = quoted(text);
		flags &= ~REG_EXTENDED;
	} else if (too_deep(text)) {
		cmd_error("%s: nested too deeply", p->text);
		exit(TROUBLE);
	}
	/* To one library an empty expression is an error, to us a match. */
	code = regcomp(&p->regex, *text ? text : "^", flags);
	if (code) {
		regerror(code, &p->regex, why, sizeof(why));
		cmd_error("%s: %s", p->text, why);
		exit(TROUBLE);
	}
}

/* Each line of text is a pattern. */
static void
patterns_add(char *text)
{
	char *line;

	while ((line = cmd_piece(&text, "\n"))) {
		if (patterns_count == patterns_room)
			patterns = cmd_grow(patterns, &patterns_room,
					    sizeof(*patterns));
		patterns[patterns_count++].text = line;
	}
}

/* --- Matching --- */

struct span {
	size_t start, end;
};

static bool
find_plain(const struct pattern *p, const char *line, size_t length,
	   size_t from, struct span *found)
{
	while (from + p->length <= length) {
		const char *at = line + from;

		if (p->length > 0)
			at = memchr(at, p->text[0], length - from);
		if (!at || at + p->length > line + length)
			return false;
		if (memcmp(at, p->text, p->length) == 0) {
			found->start = at - line;
			found->end = found->start + p->length;
			return true;
		}
		from = at - line + 1;
	}
	return false;
}

static bool
find_regex(const struct pattern *p, const char *line, size_t length,
	   size_t from, struct span *found)
{
	regmatch_t match = {.rm_so = from, .rm_eo = length};
	int flags = REG_STARTEND | (from > 0 ? REG_NOTBOL : 0);

	if (regexec(&p->regex, line, 1, &match, flags) != 0)
		return false;
	found->start = match.rm_so;
	found->end = match.rm_eo;
	return true;
}

static bool
is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The first match of one pattern, from an offset on; with -w one that is
 * neither preceded nor followed by a letter of a word. */
static bool
find_one(const struct pattern *p, const char *line, size_t length, size_t from,
	 struct span *found)
{
	for (; from <= length; from = found->start + 1) {
		if (!(p->plain ? find_plain(p, line, length, from, found)
			       : find_regex(p, line, length, from, found)))
			return false;
		if (!cmd_given['w'])
			return true;
		if (!(found->start > 0 && is_word(line[found->start - 1])) &&
		    !(found->end < length && is_word(line[found->end])))
			return true;
	}
	return false;
}

/* The leftmost match of all patterns, of those the longest. */
static bool
find(const char *line, size_t length, size_t from, struct span *best)
{
	bool any = false;

	for (size_t i = 0; i < patterns_count; i++) {
		struct span found;

		if (!find_one(&patterns[i], line, length, from, &found))
			continue;
		if (!any || found.start < best->start ||
		    (found.start == best->start && found.end > best->end))
			*best = found;
		any = true;
	}
	return any;
}

/* --- Files --- */

static void
print_prefix(const char *name, unsigned long number)
{
	if (named) {
		out_path(name);
		out_char(':');
	}
	if (cmd_given['n'])
		out_printf("%lu:", number);
}

/* Each match in a line, on a line of its own. */
static void
print_matches(const char *line, size_t length, const char *name,
	      unsigned long number)
{
	struct span found;
	size_t from = 0;

	while (from <= length && find(line, length, from, &found)) {
		from = found.end + (found.end == found.start);
		if (found.end == found.start)
			continue;
		print_prefix(name, number);
		out_bytes(line + found.start, found.end - found.start);
		out_char('\n');
	}
}

/* Print a selected line; false if the rest of the file need not be seen. */
static bool
print_line(const char *line, size_t length, const char *name,
	   unsigned long number)
{
	if (memchr(line, '\0', length)) {
		out_path(name);
		out_string(": binary file matches\n");
		return false;
	}
	if (cmd_given['o']) {
		if (!cmd_given['v'])
			print_matches(line, length, name, number);
		return true;
	}
	print_prefix(name, number);
	out_bytes(line, length);
	out_char('\n');
	return true;
}

/* What a selected line leads to; false as above. */
static bool
line_selected(const char *line, size_t length, const char *name,
	      unsigned long number)
{
	selected = true;
	if (cmd_given['q'])
		exit(MATCHED);
	if (cmd_given['c'])
		return true;
	if (cmd_given['l']) {
		out_path(name);
		out_char('\n');
		return false;
	}
	return print_line(line, length, name, number);
}

static void
search(int fd, const char *name)
{
	unsigned long number = 0, count = 0;
	struct lines in;
	struct span found;
	size_t length;
	char *line;

	if (fd == STDIN_FILENO)
		name = "(standard input)";
	lines_open(&in, fd, name);
	while ((line = lines_next(&in, &length))) {
		number++;
		if (find(line, length, 0, &found) == cmd_given['v'])
			continue;
		count++;
		if (!line_selected(line, length, name, number))
			break;
	}
	lines_close(&in);
	if (cmd_given['c']) {
		if (named) {
			out_path(name);
			out_char(':');
		}
		out_printf("%lu\n", count);
	}
}

static void
search_path(const char *path)
{
	int fd = cmd_open(path);

	if (fd < 0)
		return;
	search(fd, path);
	close(fd);
}

/* All files below path. Devices are left alone: some never end. */
static void
search_tree(const char *path, bool operand)
{
	struct stat st;
	size_t count;
	char **names;

	if (stat(path, &st) < 0) {
		cmd_warn("%s", path);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		if (operand || S_ISREG(st.st_mode))
			search_path(path);
		return;
	}
	names = tree_names(path, &count);
	if (!names)
		return;
	for (char **name = names; *name; name++) {
		char *inner = cmd_join(path, *name);

		search_tree(inner, false);
		free(inner);
	}
	tree_free(names);
}

static void
options(void)
{
	int c;

	while ((c = cmd_option("cEe:FHhilnoqrvw")) != -1) {
		if (c == 'e')
			patterns_add(cmd_value);
	}
	if (!cmd_given['e']) {
		if (cmd_argc == 0)
			cmd_usage("no pattern");
		patterns_add(*cmd_argv++);
		cmd_argc--;
	}
	for (size_t i = 0; i < patterns_count; i++)
		compile(&patterns[i]);
	named = cmd_argc > 1 || cmd_given['r'] || cmd_given['H'];
	if (cmd_given['h'])
		named = false;
}

int
main(int argc, char **argv)
{
	static char *here[] = {".", NULL};

	cmd_trouble = TROUBLE;
	cmd_start(argc, argv, "grep", SYNOPSIS);
	options();
	if (!cmd_given['r'])
		cmd_files(search);
	else
		for (char **path = cmd_argc ? cmd_argv : here; *path; path++)
			search_tree(*path, true);
	if (cmd_done() != 0)
		return TROUBLE;
	return selected ? MATCHED : UNMATCHED;
}
