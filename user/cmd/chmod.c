/* chmod: change who may read, write and execute files. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../cmdlib/cmd.h"

#define ALL_BITS 07777

static const char *change; /* the first operand */

/* The bits of the classes u, g, o and a at *text, which moves on; all of
 * them if none is named. */
static mode_t
parse_who(const char **text)
{
	mode_t who = 0;

	for (;; ++*text) {
		if (**text == 'u')
			who |= 0700;
		else if (**text == 'g')
			who |= 0070;
		else if (**text == 'o')
			who |= 0007;
		else if (**text == 'a')
			who |= 0777;
		else
			return who ? who : 0777;
	}
}

/* What r, w, x and X mean, for everyone. */
static mode_t
parse_bits(const char **text, mode_t mode)
{
	mode_t bits = 0;

	for (;; ++*text) {
		if (**text == 'r')
			bits |= 0444;
		else if (**text == 'w')
			bits |= 0222;
		else if (**text == 'x')
			bits |= 0111;
		else if (**text == 'X')
			bits |= S_ISDIR(mode) || (mode & 0111) ? 0111 : 0;
		else
			return bits;
	}
}

/* The mode that change makes of one: digits, or [ugoa][+-=][rwxX], with
 * commas between. */
static mode_t
changed(mode_t mode)
{
	const char *c = change;
	mode_t bits;
	long n;

	if (number_read(c, 8, 0, ALL_BITS, &n))
		return n;
	do {
		mode_t who = parse_who(&c);

		if (!*c || !strchr("+-=", *c))
			cmd_usage("not a mode: %s", change);
		while (*c && strchr("+-=", *c)) {
			char how = *c++;

			bits = parse_bits(&c, mode) & who;
			if (how != '+')
				mode &= ~(how == '=' ? who : bits);
			if (how != '-')
				mode |= bits;
		}
	} while (*c++ == ',');
	if (c[-1])
		cmd_usage("not a mode: %s", change);
	return mode & ALL_BITS;
}

static void
apply(const char *path)
{
	size_t count;
	struct stat st;
	char **names;

	if (stat(path, &st) < 0 || chmod(path, changed(st.st_mode)) < 0) {
		cmd_warn("%s", path);
		return;
	}
	if (!cmd_given['R'] || !S_ISDIR(st.st_mode))
		return;
	names = tree_names(path, &count);
	if (!names)
		return;
	for (char **name = names; *name; name++) {
		char *inner = cmd_join(path, *name);

		apply(inner);
		free(inner);
	}
	tree_free(names);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "chmod", "[-R] MODE FILE ...");
	cmd_flags("R");
	cmd_operands(2, CMD_MANY);
	change = cmd_argv[0];
	changed(0); /* a wrong mode is told before any file is touched */
	for (char **path = cmd_argv + 1; *path; path++)
		apply(*path);
	return cmd_done();
}
