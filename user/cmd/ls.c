/* ls: list directories. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/show.h"

#define SYNOPSIS   "[-1adFhLlqRrt] [FILE ...]"
#define COLUMN_GAP 2
#define HALF_YEAR  (365 * 24 * 60 * 60 / 2) /* seconds */

struct entry {
	const char *name;
	char *shown;  /* as it is printed, while it is */
	char *target; /* of a symbolic link, for -l; else NULL */
	struct stat st;
};

static bool in_detail, one_column; /* else in as many as fit */
static int width;                  /* of the terminal, in characters */
static bool titled; /* directories are announced by their names */
static bool begun;  /* something was printed */

static int
entry_compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = 0;

	if (cmd_given['t'] && a->st.st_mtim.tv_sec != b->st.st_mtim.tv_sec)
		order = a->st.st_mtim.tv_sec > b->st.st_mtim.tv_sec ? -1 : 1;
	else if (cmd_given['t'] &&
		 a->st.st_mtim.tv_nsec != b->st.st_mtim.tv_nsec)
		order = a->st.st_mtim.tv_nsec > b->st.st_mtim.tv_nsec ? -1 : 1;
	if (order == 0)
		order = strcmp(a->name, b->name);
	return cmd_given['r'] ? -order : order;
}

/* What -F puts behind a name, or a NUL. */
static char
mark(mode_t mode)
{
	if (!cmd_given['F'])
		return '\0';
	if (S_ISDIR(mode))
		return '/';
	if (S_ISLNK(mode))
		return '@';
	if (S_ISFIFO(mode))
		return '|';
	return S_ISREG(mode) && (mode & 0111) ? '*' : '\0';
}

/* A name as it is printed, in memory of its own; only at a terminal it has a
 * width. */
static char *
shown(const char *name)
{
	if (cmd_given['q'])
		return cmd_shown(name);
	return width > 0 ? cmd_quoted(name) : cmd_copy(name);
}

static void
print_path(const char *path)
{
	char *text = shown(path);

	out_string(text);
	free(text);
}

static void
print_name(const struct entry *e)
{
	char c = mark(e->st.st_mode);

	out_string(e->shown);
	if (c)
		out_char(c);
}

static void
print_mode(mode_t mode)
{
	static const char letters[] = "rwxrwxrwx";
	char type = '-';

	if (S_ISDIR(mode))
		type = 'd';
	else if (S_ISCHR(mode))
		type = 'c';
	else if (S_ISLNK(mode))
		type = 'l';
	else if (S_ISFIFO(mode))
		type = 'p';
	out_char(type);
	for (int i = 0; i < 9; i++)
		out_char(mode & (0400 >> i) ? letters[i] : '-');
}

/* Long ago or in the future: the year, instead of the time of day. */
static void
print_time(time_t when)
{
	time_t now = time(NULL);
	bool recent = when <= now && now - when < HALF_YEAR;
	char text[20];

	strftime(text, sizeof(text), recent ? "%b %e %H:%M" : "%b %e  %Y",
		 gmtime(&when));
	out_string(text);
}

static void
print_long(const struct entry *e, int size_width)
{
	char text[CMD_HUMAN];

	print_mode(e->st.st_mode);
	out_printf(" %3lu ", (unsigned long)e->st.st_nlink);
	if (cmd_given['h'])
		out_printf("%5s ", cmd_human(e->st.st_size, text));
	else
		out_printf("%*lld ", size_width, (long long)e->st.st_size);
	print_time(e->st.st_mtim.tv_sec);
	out_char(' ');
	print_name(e);
	if (e->target) {
		out_string(" -> ");
		print_path(e->target);
	}
	out_char('\n');
}

/* Down the columns, like a telephone book. */
static void
print_columns(const struct entry *e, size_t count)
{
	size_t longest = 0, columns, rows;

	for (size_t i = 0; i < count; i++) {
		size_t length = show_columns(e[i].shown) + cmd_given['F'];

		if (length > longest)
			longest = length;
	}
	longest += COLUMN_GAP;
	columns = (width + COLUMN_GAP) / longest;
	if (columns < 1)
		columns = 1;
	rows = (count + columns - 1) / columns;
	for (size_t row = 0; row < rows; row++) {
		for (size_t i = row; i < count; i += rows) {
			size_t length = show_columns(e[i].shown) +
					(mark(e[i].st.st_mode) != '\0');

			print_name(&e[i]);
			if (i + rows < count)
				out_printf("%*s", (int)(longest - length), "");
		}
		out_char('\n');
	}
}

/* One to a line. */
static void
print_lines(const struct entry *e, size_t count)
{
	int size_width = 1;

	for (size_t i = 0; i < count; i++) {
		int n = snprintf(NULL, 0, "%lld", (long long)e[i].st.st_size);

		if (n > size_width)
			size_width = n;
	}
	for (size_t i = 0; i < count; i++) {
		if (in_detail) {
			print_long(&e[i], size_width);
			continue;
		}
		print_name(&e[i]);
		out_char('\n');
	}
}

static void
print_entries(struct entry *e, size_t count)
{
	if (count == 0)
		return;
	begun = true;
	qsort(e, count, sizeof(*e), entry_compare);
	for (size_t i = 0; i < count; i++)
		e[i].shown = shown(e[i].name);
	if (in_detail || one_column)
		print_lines(e, count);
	else
		print_columns(e, count);
	for (size_t i = 0; i < count; i++)
		free(e[i].shown);
}

/* Fill in e for dir/name; false after a message. A link that leads nowhere is
 * shown itself even if it should be followed. */
static bool
entry_stat(struct entry *e, const char *dir, const char *name, bool follow)
{
	char *path = cmd_join(dir, name);
	bool found = (follow && stat(path, &e->st) == 0) ||
		     lstat(path, &e->st) == 0;

	if (!found)
		cmd_warn("%s", path);
	e->name = name;
	e->target = NULL;
	if (found && in_detail && S_ISLNK(e->st.st_mode))
		e->target = cmd_readlink(path);
	free(path);
	return found;
}

static void list(const char *path);

static void
list_inner(const char *path, const struct entry *e, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *inner;

		if (!S_ISDIR(e[i].st.st_mode) || strcmp(e[i].name, ".") == 0 ||
		    strcmp(e[i].name, "..") == 0)
			continue;
		inner = cmd_join(path, e[i].name);
		list(inner);
		free(inner);
	}
}

/* One directory, and with -R those in it. */
static void
list(const char *path)
{
	size_t names_count, count = 0;
	char **names = tree_names(path, &names_count);
	struct entry *e;

	if (!names)
		return;
	if (titled) {
		out_string(begun ? "\n" : "");
		print_path(path);
		out_string(":\n");
	}
	begun = true;
	e = cmd_alloc((names_count + 2) * sizeof(*e));
	if (cmd_given['a']) {
		count += entry_stat(&e[count], path, ".", false);
		count += entry_stat(&e[count], path, "..", false);
	}
	for (char **name = names; *name; name++) {
		if (cmd_given['a'] || **name != '.')
			count += entry_stat(&e[count], path, *name,
					    cmd_given['L']);
	}
	print_entries(e, count);
	if (cmd_given['R'])
		list_inner(path, e, count);
	for (size_t i = 0; i < count; i++)
		free(e[i].target);
	free(e);
	tree_free(names);
}

/* Operands that are files come first, together; then each directory. With -d,
 * -F or -l a link is told of, and not the directory that it leads to. */
static void
list_operands(char **paths, size_t count)
{
	struct entry *files = cmd_alloc(count * sizeof(*files));
	struct entry *dirs = cmd_alloc(count * sizeof(*dirs));
	size_t nfiles = 0, ndirs = 0;
	bool follow = cmd_given['L'] ||
		      !(cmd_given['d'] || cmd_given['F'] || cmd_given['l']);

	for (; *paths; paths++) {
		struct entry *e = &files[nfiles];

		if (!entry_stat(e, "", *paths, follow))
			continue;
		if (S_ISDIR(e->st.st_mode) && !cmd_given['d'])
			dirs[ndirs++] = *e;
		else
			nfiles++;
	}
	print_entries(files, nfiles);
	qsort(dirs, ndirs, sizeof(*dirs), entry_compare);
	for (size_t i = 0; i < ndirs; i++)
		list(dirs[i].name);
	free(files);
	free(dirs);
}

int
main(int argc, char **argv)
{
	static char *here[] = {".", NULL};
	struct winsize size;

	cmd_start(argc, argv, "ls", SYNOPSIS);
	cmd_flags("1adFhLlqRrt");
	in_detail = cmd_given['l'];
	one_column = cmd_given['1'];
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		one_column = true;
	else
		width = size.ws_col > 0 ? size.ws_col : 1;
	titled = cmd_argc > 1 || cmd_given['R'];
	list_operands(cmd_argc ? cmd_argv : here, cmd_argc ? cmd_argc : 1);
	return cmd_done();
}
