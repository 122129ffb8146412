/* Options, messages and values: see cmd.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/utf8.h"
#include "cmd.h"
#include "show.h"

char **cmd_argv;
int cmd_argc;
char *cmd_value;
bool cmd_given[128];
int cmd_status;
int cmd_trouble = 1;

static const char *cmd_name;
static const char *cmd_synopsis;

/* Arguments are taken at next; operands gather at the front, which is always
 * at or before it. */
static char **next;
static char *cluster; /* what is left of an argument like -la */

void
cmd_start(int argc, char **argv, const char *name, const char *synopsis)
{
	cmd_name = name;
	cmd_synopsis = synopsis;
	/* Not even argv[0] is certain: execve decides. */
	cmd_argv = argv + (argc > 0);
	next = cmd_argv;
}

/*
 * One write(2) for a message, so that those of a pipeline's commands don't
 * mix. code is an errno to explain, or 0.
 */
static void
message(int code, const char *format, va_list args)
{
	char *what, *text;
	size_t n;

	/* What was said before belongs before the complaint. */
	if (out.used > 0 && isatty(out.fd))
		out_flush();
	if (vasprintf(&what, format, args) < 0 ||
	    asprintf(&text, "%s: %s%s%s", cmd_name, what, code ? ": " : "",
		     code ? strerror(code) : "") < 0) {
		/* Without memory the format has to do. */
		out_direct(STDERR_FILENO, format, strlen(format));
		out_direct(STDERR_FILENO, "\n", 1);
		return;
	}
	n = strlen(show_name(text));
	text[n++] = '\n'; /* which show_name would have shown */
	out_direct(STDERR_FILENO, text, n);
	free(text);
	free(what);
}

void
cmd_warn(const char *format, ...)
{
	int code = errno;
	va_list args;

	va_start(args, format);
	message(code, format, args);
	va_end(args);
	cmd_status = cmd_trouble;
}

void
cmd_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(0, format, args);
	va_end(args);
	cmd_status = cmd_trouble;
}

void
cmd_die(const char *format, ...)
{
	int code = errno;
	va_list args;

	va_start(args, format);
	message(code, format, args);
	va_end(args);
	exit(cmd_trouble);
}

void
cmd_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(0, format, args);
	va_end(args);
	dprintf(STDERR_FILENO, "usage: %s%s%s\n", cmd_name,
		*cmd_synopsis ? " " : "", cmd_synopsis);
	exit(CMD_USAGE);
}

/* No option is left: what wasn't looked at is operands. */
static int
options_end(void)
{
	while (*next)
		cmd_argv[cmd_argc++] = *next++;
	cmd_argv[cmd_argc] = NULL;
	return -1;
}

/* The option that cluster points at. */
static int
option_take(const char *letters)
{
	int letter = *cluster++;
	const char *known = strchr("+:#0", letter) ? NULL
						   : strchr(letters, letter);

	if (!known)
		cmd_usage("unknown option -%c", letter);
	cmd_given[letter & 127] = true;
	if (known[1] != ':')
		return letter;
	cmd_value = *cluster ? cluster : *next;
	if (!cmd_value)
		cmd_usage("option -%c needs a value", letter);
	if (!*cluster)
		next++;
	cluster = NULL;
	return letter;
}

/* Is arg an operand, of a command that takes these letters? */
static bool
is_operand(const char *arg, const char *letters)
{
	if (arg[0] != '-' || arg[1] == '\0')
		return true;
	return strchr(letters, '0') && strspn(arg + 1, "0123456789.") > 0;
}

/* Not getopt(3): the C library's loses the letter of an unknown option, and
 * trips over an operand `-`. */
int
cmd_option(const char *letters)
{
	char *arg;

	if (cluster && *cluster)
		return option_take(letters);
	while ((arg = *next) && is_operand(arg, letters)) {
		if (*letters == '+')
			return options_end();
		cmd_argv[cmd_argc++] = arg;
		next++;
	}
	if (!arg)
		return options_end();
	next++;
	if (strcmp(arg, "--") == 0)
		return options_end();
	if (strchr(letters, '#') && strspn(arg + 1, "0123456789") > 0) {
		cmd_value = arg + 1;
		return '#';
	}
	cluster = arg + 1;
	return option_take(letters);
}

void
cmd_flags(const char *letters)
{
	while (cmd_option(letters) != -1)
		;
}

void
cmd_operands(int min, int max)
{
	if (cmd_argc < min)
		cmd_usage("too few operands");
	if (cmd_argc > max)
		cmd_usage("one operand too many: %s", cmd_argv[max]);
}

int
cmd_done(void)
{
	out_flush();
	return cmd_status;
}

long
cmd_number(const char *text, const char *what, long min, long max)
{
	long n;

	if (number_read(text, 10, min, max, &n))
		return n;
	if (max == LONG_MAX)
		cmd_usage("not %s: %s", what, text);
	cmd_usage("not %s from %ld to %ld: %s", what, min, max, text);
}

double
cmd_decimal(const char *text, const char *what)
{
	char *end;
	double n = strtod(text, &end);

	/* strtod takes signs, exponents, hexadecimal and words. */
	if (end == text || *end || text[strspn(text, "0123456789.")])
		cmd_usage("not %s: %s", what, text);
	return n;
}

int
cmd_escape(const char **text, int digits)
{
	static const char letters[] = "abefnrtv\\\"";
	static const char values[] = "\a\b\033\f\n\r\t\v\\\"";
	const char *c = *text;
	const char *letter = *c ? strchr(letters, *c) : NULL;
	int value = 0;

	if (letter) {
		++*text;
		return values[letter - letters];
	}
	while (digits-- > 0 && *c >= '0' && *c <= '7')
		value = value * 8 + *c++ - '0';
	if (c == *text)
		return -1;
	*text = c;
	return (unsigned char)value;
}

char *
cmd_piece(char **rest, const char *separators)
{
	char *piece = *rest;
	size_t length = piece ? strcspn(piece, separators) : 0;

	if (!piece)
		return NULL;
	*rest = piece[length] ? piece + length + 1 : NULL;
	piece[length] = '\0';
	return piece;
}

void *
cmd_alloc(size_t size)
{
	return cmd_realloc(NULL, size);
}

void *
cmd_realloc(void *old, size_t size)
{
	void *new = realloc(old, size ? size : 1);

	if (!new)
		cmd_die("%zu bytes", size);
	return new;
}

void *
cmd_grow(void *array, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 64;
	return cmd_realloc(array, *room * size);
}

char *
cmd_copy(const char *text)
{
	return strcpy(cmd_alloc(strlen(text) + 1), text);
}

char *
cmd_text_of(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		cmd_die("memory");
	return text;
}

char *
cmd_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = cmd_text_of(format, args);
	va_end(args);
	return text;
}

char *
cmd_shown(const char *name)
{
	return show_name(cmd_copy(name));
}

/* Does the character of n bytes at c stand for itself in a shell, at the start
 * of a word and elsewhere? */
static bool
is_plain(const char *c, size_t n)
{
	return n > 1 || isalnum((unsigned char)*c) || strchr("%+,-./:@_", *c);
}

/*
 * Text is in quotes; what does something to a terminal is in $'' between them.
 * A byte takes at most 8: a quote is '\\'', and an octal number may have quotes
 * before it and behind it.
 */
char *
cmd_quoted(const char *name)
{
	static const char controls[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
	const char *end = name + strlen(name);
	char *quoted = cmd_alloc(8 * (end - name) + 3), *to = quoted;
	bool plain = name < end, escaped = false;
	size_t n;

	*to++ = '\'';
	for (const char *c = name; c < end; c += n) {
		int width;
		bool shows;

		n = utf8_next(c, end - c, &width);
		shows = utf8_shows(c, n);
		plain = plain && shows && is_plain(c, n);
		if (shows == escaped)
			to = stpcpy(to, shows ? "''" : "'$'");
		escaped = !shows;
		for (size_t i = 0; !shows && i < n; i++) {
			const char *at = strchr(controls, c[i]);

			to += at ? sprintf(to, "\\%c", letters[at - controls])
				 : sprintf(to, "\\%03o", (unsigned char)c[i]);
		}
		if (shows && *c == '\'')
			to = stpcpy(to, "'\\''");
		else if (shows)
			to = (char *)memcpy(to, c, n) + n;
	}
	strcpy(to, "'");
	if (plain)
		strcpy(quoted, name);
	return quoted;
}

char *
cmd_join(const char *dir, const char *name)
{
	size_t length = strlen(dir);
	char *path = cmd_alloc(length + strlen(name) + 2);

	memcpy(path, dir, length);
	if (length > 0 && dir[length - 1] != '/')
		path[length++] = '/';
	strcpy(path + length, name);
	return path;
}

const char *
cmd_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *
cmd_human(uint64_t bytes, char text[CMD_HUMAN])
{
	static const char units[] = "BKMGTPE";
	int unit = 0;
	uint64_t tenths;

	if (bytes < 1024) {
		snprintf(text, CMD_HUMAN, "%u", (unsigned int)bytes);
		return text;
	}
	for (; bytes >= 1024 * 1024; unit++)
		bytes /= 1024;
	/* Rounded up, like a disk's user would: nothing seems smaller. */
	tenths = (bytes * 10 + 1023) / 1024;
	unit++;
	if (tenths < 100)
		snprintf(text, CMD_HUMAN, "%u.%u%c",
			 (unsigned int)(tenths / 10),
			 (unsigned int)(tenths % 10), units[unit]);
	else
		snprintf(text, CMD_HUMAN, "%u%c",
			 (unsigned int)((bytes + 1023) / 1024), units[unit]);
	return text;
}

void
cmd_exec(char **argv)
{
	execvp(argv[0], argv);
	cmd_trouble = errno == ENOENT ? 127 : 126;
	cmd_die("%s", argv[0]);
}

char *
cmd_readlink(const char *path)
{
	size_t room = 0;
	char *target = NULL;
	ssize_t n;

	do {
		target = cmd_grow(target, &room, sizeof(*target));
		n = readlink(path, target, room);
	} while (n == (ssize_t)room);
	if (n < 0) {
		int code = errno;

		free(target);
		errno = code;
		return NULL;
	}
	target[n] = '\0';
	return target;
}
