/*
 * man: show a page of the manual, or with -k the titles that speak of a
 * word. The pages were made plain text when the system was built; they are
 * in PAGES/catSECTION/NAME.SECTION.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define PAGES     "/usr/share/man"
#define SECTIONS  "123456789"
#define PATH_ROOM 256

static bool
page_path(char path[PATH_ROOM], const char *name, char section)
{
	snprintf(path, PATH_ROOM, PAGES "/cat%c/%s.%c", section, name, section);
	return access(path, R_OK) == 0;
}

/* Bold and underlined letters are two, with a backspace between: leave the
 * second. */
static void
unstrike(char *text)
{
	char *start = text, *to = text;

	for (; *text; text++) {
		if (*text == '\b' && to > start)
			to--;
		else
			*to++ = *text;
	}
	*to = '\0';
}

/* A page as plain text, for other programs. */
static void
print_plain(int fd, const char *name)
{
	struct lines in;
	size_t length;
	char *line;

	lines_open(&in, fd, name);
	while ((line = lines_next(&in, &length))) {
		unstrike(line);
		out_string(line);
		out_char('\n');
	}
	lines_close(&in);
}

/* Show a page; false if there is none. */
static bool
show(char *name, const char *sections)
{
	char path[PATH_ROOM];

	for (; *sections; sections++) {
		if (!page_path(path, name, *sections))
			continue;
		if (isatty(STDOUT_FILENO))
			cmd_exec((char *[]){"more", path, NULL});
		cmd_argv = (char *[]){path, NULL};
		cmd_files(print_plain);
		return true;
	}
	return false;
}

/* The line after NAME's heading, where a page says what it is about; false
 * if there is none. The title is valid until the file is closed. */
static char *
page_title(struct lines *in)
{
	bool next = false;
	size_t length;
	char *line;

	while ((line = lines_next(in, &length))) {
		unstrike(line);
		if (next)
			return line + strspn(line, " ");
		next = strcmp(line, "NAME") == 0;
	}
	return NULL;
}

static bool
contains(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; *text; text++) {
		if (strncasecmp(text, word, length) == 0)
			return true;
	}
	return length == 0;
}

/* Print the title of one page, if it speaks of word. */
static bool
search_page(const char *path, char section, const char *word)
{
	struct lines in;
	int fd = cmd_open(path);
	bool found = false;
	char *title;

	if (fd < 0)
		return false;
	lines_open(&in, fd, path);
	title = page_title(&in);
	if (title && contains(title, word)) {
		out_printf("(%c) %s\n", section, title);
		found = true;
	}
	lines_close(&in);
	close(fd);
	return found;
}

static int
name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
search_section(char section, const char *word)
{
	char directory[] = PAGES "/cat?";
	bool found = false;
	size_t count;
	char **names;

	directory[sizeof(directory) - 2] = section;
	names = tree_names(directory, &count);
	if (!names)
		return false;
	qsort(names, count, sizeof(*names), name_compare);
	for (char **name = names; *name; name++) {
		char *path = cmd_join(directory, *name);

		found = search_page(path, section, word) || found;
		free(path);
	}
	tree_free(names);
	return found;
}

static void
search(const char *word)
{
	bool found = false;

	for (const char *section = SECTIONS; *section; section++)
		found = search_section(*section, word) || found;
	if (!found)
		cmd_error("nothing about %s", word);
}

int
main(int argc, char **argv)
{
	const char *sections = SECTIONS;

	cmd_start(argc, argv, "man", "[SECTION] NAME | -k WORD");
	cmd_flags("k");
	if (cmd_given['k']) {
		cmd_operands(1, 1);
		search(cmd_argv[0]);
		return cmd_done();
	}
	if (cmd_argc > 1 && cmd_argv[0][0] && strchr(SECTIONS, *cmd_argv[0]) &&
	    cmd_argv[0][1] == '\0') {
		sections = *cmd_argv++;
		cmd_argc--;
	}
	cmd_operands(1, 1);
	if (show(cmd_argv[0], sections))
		return cmd_done();
	if (sections[1])
		cmd_error("no page %s", cmd_argv[0]);
	else
		cmd_error("no page %s in section %s", cmd_argv[0], sections);
	return cmd_done();
}
