/* Trees of files: copying and removing them. See cmd.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd.h"

#define AT_ONCE 256 /* names of a directory that is removed */

/* The copy that is being made: how deep we are in it, and its outermost
 * directory, which must not be copied in turn when it lies inside the
 * original. */
static unsigned int copy_depth;
static struct stat copy_root;

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The next entry that is neither . nor ..; NULL: none, or with errno. */
static struct dirent *
next_entry(DIR *dir)
{
	struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && (strcmp(entry->d_name, ".") == 0 ||
			   strcmp(entry->d_name, "..") == 0));
	return entry;
}

/* The names in a directory, as tree_names, but without the first ones, and no
 * more than so many. With errno, unless it is 0: what was read before that. */
static char **
some_names(const char *path, size_t first, size_t most, size_t *count)
{
	DIR *dir = opendir(path);
	char **names = NULL;
	size_t room = 0, n = 0;
	struct dirent *entry;
	int code;

	if (!dir)
		return NULL;
	do {
		errno = 0;
		entry = n < most ? next_entry(dir) : NULL;
		if (entry && first > 0) {
			first--;
			continue;
		}
		if (n == room)
			names = cmd_grow(names, &room, sizeof(*names));
		names[n++] = entry ? cmd_join("", entry->d_name) : NULL;
	} while (entry);
	code = errno;
	*count = n - 1;
	closedir(dir);
	errno = code;
	return names;
}

/* What is wrong, and whether anything was read all the same. */
static void
warn_names(const char *path, char **names)
{
	if (names)
		cmd_warn("%s: can't read the whole directory", path);
	else
		cmd_warn("%s", path);
}

char **
tree_names(const char *path, size_t *count)
{
	char **names = some_names(path, 0, SIZE_MAX, count);

	if (!names || errno)
		warn_names(path, names);
	return names;
}

void
tree_free(char **names)
{
	for (char **name = names; *name; name++)
		free(*name);
	free(names);
}

/* Is the answer to a question about path, on standard error, yes? */
static bool
confirmed(const char *path)
{
	char c, first = '\0', *shown = cmd_shown(path);

	dprintf(STDERR_FILENO, "remove %s? ", shown);
	free(shown);
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
		if (!first)
			first = c;
	}
	return first == 'y' || first == 'Y';
}

/* Some names at a time: a directory may have so many that memory is short, and
 * removing them be the cure. Those that stay come first in the next part. */
static bool
remove_contents(const char *path, unsigned int flags)
{
	size_t count, stay = 0;
	struct stat st;
	bool fine = true;

	do {
		char **names = some_names(path, stay, AT_ONCE, &count);

		if (!names || errno) {
			warn_names(path, names);
			fine = false;
		}
		if (!names)
			return false;
		for (char **name = names; *name; name++) {
			char *inner = cmd_join(path, *name);

			fine = tree_remove(inner, flags) && fine;
			stay += lstat(inner, &st) == 0;
			free(inner);
		}
		tree_free(names);
	} while (count == AT_ONCE);
	return fine;
}

bool
tree_remove(const char *path, unsigned int flags)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT && (flags & TREE_MISSING))
			return true;
		cmd_warn("%s", path);
		return false;
	}
	if (S_ISDIR(st.st_mode) && !(flags & TREE_RECURSE)) {
		errno = EISDIR;
		cmd_warn("%s", path);
		return false;
	}
	if (S_ISDIR(st.st_mode) && !remove_contents(path, flags))
		return false;
	if ((flags & TREE_ASK) && !confirmed(path))
		return true;
	if ((S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path)) < 0) {
		cmd_warn("%s", path);
		return false;
	}
	return true;
}

/* Mode and times of from's to a copy. */
static bool
keep(const struct stat *from, const char *to)
{
	struct timespec times[2] = {from->st_atim, from->st_mtim};
	bool link = S_ISLNK(from->st_mode); /* it has no mode */

	if ((!link && chmod(to, from->st_mode & 07777) < 0) ||
	    utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW) < 0) {
		cmd_warn("%s", to);
		return false;
	}
	return true;
}

/* Open a file to copy into; with TREE_FORCE in place of one that can't be. */
static int
create(const char *to, mode_t mode, unsigned int flags)
{
	const int how = O_WRONLY | O_CREAT | O_TRUNC;
	int fd = open(to, how, mode & 0777);

	if (fd < 0 && (flags & TREE_FORCE) && unlink(to) == 0)
		fd = open(to, how, mode & 0777);
	if (fd < 0)
		cmd_warn("%s", to);
	return fd;
}

static bool
copy_bytes(int in, const char *from, int out_fd, const char *to)
{
	static char buf[CMD_BUFFER];
	ssize_t n;

	while ((n = cmd_read(in, buf, sizeof(buf), from)) > 0) {
		if (!out_direct(out_fd, buf, n)) {
			cmd_warn("%s", to);
			return false;
		}
	}
	return n == 0;
}

static bool
copy_file(const char *from, const struct stat *st, const char *to,
	  unsigned int flags)
{
	int in, out_fd;
	bool fine;

	in = cmd_open(from);
	if (in < 0)
		return false;
	out_fd = create(to, st->st_mode, flags);
	if (out_fd < 0) {
		close(in);
		return false;
	}
	fine = copy_bytes(in, from, out_fd, to);
	close(in);
	if (close(out_fd) < 0 && fine) {
		cmd_warn("%s", to);
		return false;
	}
	return fine;
}

/* A link to the same path. It may lead elsewhere from there. */
static bool
copy_link(const char *from, const char *to, unsigned int flags)
{
	char *target = cmd_readlink(from);
	bool fine = target && symlink(target, to) == 0;

	if (target && !fine && errno == EEXIST && (flags & TREE_FORCE) &&
	    unlink(to) == 0)
		fine = symlink(target, to) == 0;
	if (!fine)
		cmd_warn("%s", target ? to : from);
	free(target);
	return fine;
}

/* Copy what a directory holds, under names read before. */
static bool
copy_contents(const char *from, char **names, const char *to,
	      unsigned int flags)
{
	bool fine = true;

	for (; *names; names++) {
		char *inner_from = cmd_join(from, *names);
		char *inner_to = cmd_join(to, *names);

		fine = tree_copy(inner_from, inner_to, flags) && fine;
		free(inner_from);
		free(inner_to);
	}
	return fine;
}

/* Make the directory to. The first of a tree becomes copy_root. */
static bool
copy_mkdir(const char *to, mode_t mode)
{
	/* Until it is filled, we must be able to write in it. */
	if (mkdir(to, (mode & 0777) | S_IRWXU) < 0 && errno != EEXIST)
		return false;
	return copy_depth > 0 || stat(to, &copy_root) == 0;
}

static bool
copy_directory(const char *from, const struct stat *st, const char *to,
	       unsigned int flags)
{
	size_t count;
	char **names;
	bool fine = false;

	if (!(flags & TREE_RECURSE)) {
		cmd_error("%s: is a directory: -r copies it", from);
		return false;
	}
	if (copy_depth > 0 && is_same(st, &copy_root)) {
		cmd_error("%s: would be copied into itself", from);
		return false;
	}
	names = some_names(from, 0, SIZE_MAX, &count);
	if (!names || errno) { /* half a copy might be taken for a whole one */
		warn_names(from, names);
		return false;
	}
	if (copy_mkdir(to, st->st_mode)) {
		copy_depth++;
		fine = copy_contents(from, names, to, flags);
		copy_depth--;
	} else {
		cmd_warn("%s", to);
	}
	tree_free(names);
	return fine;
}

bool
tree_copy(const char *from, const char *to, unsigned int flags)
{
	bool links = flags & TREE_RECURSE; /* themselves */
	struct stat st, old;
	bool fine;

	if ((links ? lstat(from, &st) : stat(from, &st)) < 0) {
		cmd_warn("%s", from);
		return false;
	}
	if ((S_ISLNK(st.st_mode) ? lstat(to, &old) : stat(to, &old)) == 0 &&
	    is_same(&st, &old)) {
		cmd_error("%s and %s are the same file", from, to);
		return false;
	}
	if (S_ISDIR(st.st_mode))
		fine = copy_directory(from, &st, to, flags);
	else if (S_ISLNK(st.st_mode))
		fine = copy_link(from, to, flags);
	else
		fine = copy_file(from, &st, to, flags);
	return fine && (!(flags & TREE_KEEP) || keep(&st, to));
}

void
tree_trim(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
}

void
cmd_onto(void (*work)(const char *from, const char *to))
{
	char *target = cmd_argv[--cmd_argc];
	struct stat st;
	bool into = stat(target, &st) == 0 && S_ISDIR(st.st_mode);

	if (!into && cmd_argc > 1)
		cmd_usage("%s: not a directory", target);
	for (int i = 0; i < cmd_argc; i++) {
		char *to;

		tree_trim(cmd_argv[i]);
		to = into ? cmd_join(target, cmd_base(cmd_argv[i])) : target;
		work(cmd_argv[i], to);
		if (into)
			free(to);
	}
}
