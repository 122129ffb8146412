/* tr: replace, delete or squeeze characters. */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define CHARACTERS 256
#define OCTAL      3 /* digits of an escape */

/* A set, in the order written: it may name a character twice. */
struct set {
	unsigned char *c;
	size_t count, room;
};

static const struct {
	const char *name;
	int (*has)(int c);
} classes[] = {
    {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
    {"cntrl", iscntrl}, {"digit", isdigit}, {"graph", isgraph},
    {"lower", islower}, {"print", isprint}, {"punct", ispunct},
    {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static void
set_add(struct set *set, unsigned char c)
{
	if (set->count == set->room)
		set->c = cmd_grow(set->c, &set->room, 1);
	set->c[set->count++] = c;
}

/* [:NAME:] at *text, which moves past it; false if there is none. */
static bool
parse_class(struct set *set, const char **text)
{
	const char *name = *text + 2;
	const char *end;

	if (strncmp(*text, "[:", 2) != 0 || !(end = strstr(name, ":]")))
		return false;
	for (size_t i = 0; i < CLASSES; i++) {
		if (strlen(classes[i].name) != (size_t)(end - name) ||
		    strncmp(classes[i].name, name, end - name) != 0)
			continue;
		for (int c = 0; c < CHARACTERS; c++) {
			if (classes[i].has(c))
				set_add(set, c);
		}
		*text = end + 2;
		return true;
	}
	cmd_usage("no such class: %s", *text);
}

/* One character, which may be an escape; any other stands for itself. */
static unsigned char
parse_character(const char **text)
{
	unsigned char c = *(*text)++;
	int escape;

	if (c != '\\' || !**text)
		return c;
	escape = cmd_escape(text, OCTAL);
	return escape < 0 ? *(*text)++ : escape;
}

static void
parse_set(struct set *set, const char *text)
{
	while (*text) {
		unsigned int first, last;

		if (parse_class(set, &text))
			continue;
		first = last = parse_character(&text);
		if (text[0] == '-' && text[1]) {
			text++;
			last = parse_character(&text);
		}
		if (last < first)
			cmd_usage("a range ends before it begins");
		for (; first <= last; first++)
			set_add(set, first);
	}
}

static void
set_complement(struct set *set)
{
	struct set rest = {0};

	for (int c = 0; c < CHARACTERS; c++) {
		if (set->count == 0 || !memchr(set->c, c, set->count))
			set_add(&rest, c);
	}
	*set = rest;
}

/* Each of from becomes its counterpart in to, whose last stands for all
 * that it lacks. */
static void
make_map(unsigned char *map, const struct set *from, const struct set *to)
{
	for (int c = 0; c < CHARACTERS; c++)
		map[c] = c;
	for (size_t i = 0; to->count > 0 && i < from->count; i++)
		map[from->c[i]] = to->c[i < to->count ? i : to->count - 1];
}

static void
mark(bool *table, const struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		table[set->c[i]] = true;
}

static void
translate(const unsigned char *map, const bool *deleted, const bool *squeezed)
{
	static unsigned char buf[CMD_BUFFER];
	int last = -1; /* written */
	ssize_t n;

	while ((n = cmd_read(STDIN_FILENO, buf, sizeof(buf), "-")) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			unsigned char c = map[buf[i]];

			if (deleted[buf[i]] || (c == last && squeezed[c]))
				continue;
			out_char(c);
			last = c;
		}
	}
}

int
main(int argc, char **argv)
{
	static unsigned char map[CHARACTERS];
	static bool deleted[CHARACTERS], squeezed[CHARACTERS];
	static const struct set nothing;
	struct set one = {0}, two = {0};
	bool deleting, squeezing;

	cmd_start(argc, argv, "tr", "[-cds] SET [SET]");
	cmd_flags("cCds");
	deleting = cmd_given['d'];
	squeezing = cmd_given['s'];
	cmd_operands(deleting != squeezing ? 1 : 2,
		     deleting && !squeezing ? 1 : 2);
	parse_set(&one, cmd_argv[0]);
	if (cmd_argc > 1)
		parse_set(&two, cmd_argv[1]);
	if (cmd_given['c'] || cmd_given['C'])
		set_complement(&one);
	if (!deleting && cmd_argc > 1 && two.count == 0)
		cmd_usage("the second set is empty");
	make_map(map, &one, deleting ? &nothing : &two);
	if (deleting)
		mark(deleted, &one);
	if (squeezing)
		mark(squeezed, cmd_argc > 1 ? &two : &one);
	translate(map, deleted, squeezed);
	return cmd_done();
}
