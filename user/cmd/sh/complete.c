/*
 * Completion: the ways in which the word before the cursor may go on. The
 * first word of a command is a builtin or a program, unless it has a slash;
 * the others are files. Directories end in a slash.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sh.h"

#define SEPARATORS " \t;&|<>()`=\"'"

static bool
has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/*
 * Add the names in a directory that start so, with shown before each of
 * them. Of programs, only regular files.
 */
static void
add_files(const char *path, const char *shown, const char *start, bool programs,
	  struct strings *found)
{
	DIR *dir = opendir(path);
	struct dirent *de;
	struct stat st;

	while (dir && (de = readdir(dir))) {
		struct buf name = {0};
		bool ok;

		if (!has_prefix(de->d_name, start) ||
		    (de->d_name[0] == '.' && *start != '.'))
			continue;
		buf_add(&name, path, strlen(path));
		buf_put(&name, '/');
		buf_add(&name, de->d_name, strlen(de->d_name));
		ok = stat(name.s, &st) == 0;
		name.len = 0;
		buf_add(&name, shown, strlen(shown));
		buf_add(&name, de->d_name, strlen(de->d_name));
		if (ok && S_ISDIR(st.st_mode))
			buf_put(&name, '/');
		if (!programs || (ok && S_ISREG(st.st_mode)))
			strings_add(found, buf_take(&name, scratch));
		buf_free(&name);
	}
	if (dir)
		closedir(dir);
}

static void
add_commands(const char *start, struct strings *found)
{
	const char *dirs = var_get("PATH");
	const struct builtin *b = NULL;

	while ((b = builtin_next(b)))
		if (has_prefix(b->name, start))
			strings_add(found, (char *)b->name);
	while (dirs)
		add_files(path_next("", &dirs), "", start, true, found);
}

static void
sort_unique(struct strings *l)
{
	size_t i, n = 0;

	if (l->n > 0)
		qsort(l->v, l->n, sizeof(*l->v), strings_compare);
	for (i = 0; i < l->n; i++)
		if (n == 0 || strcmp(l->v[i], l->v[n - 1]) != 0)
			l->v[n++] = l->v[i];
	l->n = n;
}

/* Is a word that starts here the first of a command? */
static bool
is_command(const char *text, size_t start)
{
	while (start > 0 && text[start - 1] == ' ')
		start--;
	return start == 0 || strchr(";&|(`", text[start - 1]) != NULL;
}

size_t
complete_find(const char *text, size_t pos, struct strings *found)
{
	size_t start = pos;
	char *word, *slash;

	while (start > 0 && !strchr(SEPARATORS, text[start - 1]))
		start--;
	word = arena_strndup(scratch, text + start, pos - start);
	slash = strrchr(word, '/');
	if (slash) {
		char *shown = arena_strndup(scratch, word, slash + 1 - word);

		add_files(shown, shown, slash + 1, false, found);
	} else if (is_command(text, start)) {
		add_commands(word, found);
	} else {
		add_files(".", "", word, false, found);
	}
	sort_unique(found);
	return start;
}
