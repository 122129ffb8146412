/*
 * File names from patterns, and lists of strings. fnmatch matches one
 * component of a path at a time; a component without a pattern is only
 * looked up when all are put together.
 */
#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sh.h"

void
strings_add(struct strings *l, char *s)
{
	if (l->n == l->cap) {
		l->cap = 2 * l->cap + 8;
		l->v = xrealloc(l->v, l->cap * sizeof(*l->v));
	}
	l->v[l->n++] = s;
}

int
strings_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *
glob_unescape(char *pattern)
{
	char *from, *to = pattern;

	for (from = pattern; *from; from++) {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	*to = '\0';
	return pattern;
}

bool
glob_is_pattern(const char *s)
{
	for (; *s; s++) {
		if (*s == '*' || *s == '?' || (*s == '[' && strchr(s, ']')))
			return true;
		if (*s == '\\' && s[1])
			s++;
	}
	return false;
}

static void glob_walk(struct buf *path, const char *pattern,
		      struct strings *out);

/* One component is in path; go on with the others, or note what is there. */
static void
glob_next(struct buf *path, const char *rest, struct strings *out)
{
	size_t slashes = strspn(rest, "/");
	struct stat st;

	if (path->len >= PATH_MAX) /* there can't be such a file */
		return;
	buf_add(path, rest, slashes);
	if (rest[slashes])
		glob_walk(path, rest + slashes, out);
	else if (stat(path->s, &st) == 0)
		strings_add(out, arena_strndup(scratch, path->s, path->len));
}

/* Names in the directory path ("": the current one) that match name. */
static void
glob_directory(struct buf *path, const char *name, const char *rest,
	       struct strings *out)
{
	DIR *dir = opendir(path->len ? path->s : ".");
	size_t len = path->len;
	struct dirent *de;

	if (!dir)
		return;
	while ((de = readdir(dir))) {
		if (fnmatch(name, de->d_name, FNM_PERIOD) != 0)
			continue;
		buf_add(path, de->d_name, strlen(de->d_name));
		glob_next(path, rest, out);
		path->len = len;
		path->s[len] = '\0';
	}
	closedir(dir);
}

static void
glob_walk(struct buf *path, const char *pattern, struct strings *out)
{
	size_t n = strcspn(pattern, "/");
	char *name = arena_strndup(scratch, pattern, n);

	if (glob_is_pattern(name)) {
		glob_directory(path, name, pattern + n, out);
		return;
	}
	glob_unescape(name);
	buf_add(path, name, strlen(name));
	glob_next(path, pattern + n, out);
}

bool
glob_files(const char *pattern, struct strings *out)
{
	size_t before = out->n, slashes = strspn(pattern, "/");
	struct buf path = {0};

	buf_add(&path, pattern, slashes);
	if (pattern[slashes])
		glob_walk(&path, pattern + slashes, out);
	buf_free(&path);
	if (out->n == before)
		return false;
	qsort(out->v + before, out->n - before, sizeof(*out->v),
	      strings_compare);
	return true;
}
