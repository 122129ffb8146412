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

#define PAGES    "/usr/share/man"
#define SECTIONS "123456789"

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

static void
show(char *path)
{
	if (isatty(STDOUT_FILENO))
		cmd_exec((char *[]){"more", path, NULL});
	cmd_argv = (char *[]){path, NULL};
	cmd_files(print_plain);
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

/* Is this one of the names that a title has before its dash? */
static bool
names(const char *title, const char *name)
{
	size_t length = strlen(name);

	for (;;) {
		if (strncmp(title, name, length) == 0 &&
		    (title[length] == ',' ||
		     strncmp(title + length, " - ", 3) == 0))
			return true;
		title += strcspn(title, " ");
		if (*title == '\0' || strncmp(title, " - ", 3) == 0)
			return false;
		title++;
	}
}

/* What to do with each page; true if it was the right one. */
typedef bool page_work(char *path, const char *title, const char *word);

static bool
show_if_named(char *path, const char *title, const char *name)
{
	if (!names(title, name))
		return false;
	show(path);
	return true;
}

static bool
print_if_about(char *path, const char *title, const char *word)
{
	if (!contains(title, word))
		return false;
	out_printf("(%c) %s\n", path[strlen(path) - 1], title);
	return true;
}

static bool
work_page(char *path, page_work *work, const char *word)
{
	struct lines in;
	int fd = cmd_open(path);
	bool found = false;
	char *title;

	if (fd < 0)
		return false;
	lines_open(&in, fd, path);
	title = page_title(&in);
	if (title)
		found = work(path, title, word);
	lines_close(&in);
	close(fd);
	return found;
}

static int
name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All pages of a section, or those up to the first that is right. */
static bool
work_section(char section, bool all, page_work *work, const char *word)
{
	char directory[] = PAGES "/cat?";
	bool found = false;
	char **pages;
	size_t count;

	directory[sizeof(directory) - 2] = section;
	if (access(directory, R_OK) < 0)
		return false;
	pages = tree_names(directory, &count);
	if (!pages)
		return false;
	qsort(pages, count, sizeof(*pages), name_compare);
	for (char **page = pages; *page && (all || !found); page++) {
		char *path = cmd_join(directory, *page);

		found = work_page(path, work, word) || found;
		free(path);
	}
	tree_free(pages);
	return found;
}

/* Show the page of that name, or one that has it among others; false if there
 * is none. */
static bool
find(const char *name, const char *sections)
{
	for (const char *section = sections; *section; section++) {
		char *path = cmd_text(PAGES "/cat%c/%s.%c", *section, name,
				      *section);

		if (access(path, R_OK) == 0) {
			show(path);
			return true;
		}
		free(path);
	}
	for (; *sections; sections++) {
		if (work_section(*sections, false, show_if_named, name))
			return true;
	}
	return false;
}

static void
search(const char *word)
{
	bool found = false;

	for (const char *section = SECTIONS; *section; section++)
		found |= work_section(*section, true, print_if_about, word);
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
	if (find(cmd_argv[0], sections))
		return cmd_done();
	if (sections[1])
		cmd_error("no page %s", cmd_argv[0]);
	else
		cmd_error("no page %s in section %s", cmd_argv[0], sections);
	return cmd_done();
}
