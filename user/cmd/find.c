/* find: the files below a directory, all or those that fit. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../cmdlib/cmd.h"

static const char *pattern; /* of -name, or NULL */
static char type;           /* of -type, or NUL */

static bool
fits(const char *path, mode_t mode)
{
	if (type == 'f' && !S_ISREG(mode))
		return false;
	if (type == 'd' && !S_ISDIR(mode))
		return false;
	if (type == 'c' && !S_ISCHR(mode))
		return false;
	if (type == 'l' && !S_ISLNK(mode))
		return false;
	return !pattern || fnmatch(pattern, cmd_base(path), 0) == 0;
}

static int
name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* found: its folder had this name. If it has gone since, that's no error. */
static void
find(const char *path, bool found)
{
	struct stat st;
	size_t count;
	char **names;

	if (lstat(path, &st) < 0) {
		if (found && errno == ENOENT)
			return;
		cmd_warn("%s", path);
		return;
	}
	if (fits(path, st.st_mode)) {
		out_path(path);
		out_char('\n');
	}
	if (!S_ISDIR(st.st_mode))
		return;
	names = tree_names(path, &count);
	if (!names)
		return;
	qsort(names, count, sizeof(*names), name_compare);
	for (char **name = names; *name; name++) {
		char *inner = cmd_join(path, *name);

		find(inner, true);
		free(inner);
	}
	tree_free(names);
}

/* -name PATTERN and -type LETTER, behind the paths. */
static void
parse_tests(char **argv)
{
	for (; *argv; argv += 2) {
		if (!argv[1])
			cmd_usage("%s needs a value", argv[0]);
		if (strcmp(argv[0], "-name") == 0)
			pattern = argv[1];
		else if (strcmp(argv[0], "-type") == 0 && argv[1][0] &&
			 strchr("fdcl", argv[1][0]) && !argv[1][1])
			type = argv[1][0];
		else
			cmd_usage("unknown test %s %s", argv[0], argv[1]);
	}
}

int
main(int argc, char **argv)
{
	char **tests;

	cmd_start(argc, argv, "find",
		  "[PATH ...] [-name PATTERN] [-type f|d|c|l]");
	tests = cmd_argv;
	while (*tests && **tests != '-')
		tests++;
	parse_tests(tests);
	if (tests == cmd_argv)
		find(".", false);
	for (char **path = cmd_argv; path < tests; path++)
		find(*path, false);
	return cmd_done();
}
