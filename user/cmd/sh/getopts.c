/*
 * getopts: the options among the words of a script or function, one a call.
 * OPTIND says which word comes next; where in a word of several letters the
 * next one is, only this file knows, until someone sets OPTIND.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sh.h"

static long last_index; /* what OPTIND was set to here, */
static size_t letter;   /* and the next letter in that word; 0: the first */

static long
index_get(void)
{
	const char *s = var_get("OPTIND");
	long n;

	if (!s || !number_read(s, 10, 1, INT_MAX, &n))
		n = 1;
	if (n != last_index)
		letter = 0;
	return n;
}

/* Go on behind a word, or behind a letter of it. */
static bool
index_set(long index, size_t next)
{
	last_index = index;
	letter = next;
	return var_set_number("OPTIND", index);
}

/* A bad option: one that isn't among them, or lacks its argument. If the
 * first of them is a colon, the script sees to it. */
static bool
complain(const char *options, const char *name, char option, bool lacks)
{
	char text[] = {option, '\0'};
	bool silent = *options == ':';

	if (!silent)
		shell_warn("getopts: -%c: %s", option,
			   lacks ? "an argument is missing" : "no such option");
	return (silent ? var_set("OPTARG", text) : var_unset("OPTARG")) &&
	       var_set(name, silent && lacks ? ":" : "?");
}

/* The letter at `letter` of word i; its argument may be the next word. */
static bool
take_option(const char *options, const char *name, char **v, int n, long i)
{
	const char *word = v[i - 1], *rest = word + letter + 1;
	char option[] = {word[letter], '\0'};
	const char *known = *option == ':' ? NULL : strchr(options, *option);
	bool wants = known && known[1] == ':';

	if (!*rest || wants)
		index_set(i + 1 + (wants && !*rest), 0);
	else
		index_set(i, letter + 1);
	if (wants && !*rest && i >= n) {
		index_set(n + 1, 0);
		return complain(options, name, *option, true);
	}
	if (!known)
		return complain(options, name, *option, false);
	if (!wants)
		return var_unset("OPTARG") && var_set(name, option);
	return var_set("OPTARG", *rest ? rest : v[i]) && var_set(name, option);
}

int
builtin_getopts(int argc, char **argv)
{
	char **v = argc > 3 ? argv + 3 : sh.params.v;
	int n = argc > 3 ? argc - 3 : sh.params.n;
	long i = index_get();
	bool dashes;

	if (argc < 3 || !is_name(argv[2], strlen(argv[2]))) {
		shell_warn("usage: getopts OPTIONS NAME [WORD...]");
		return STATUS_USAGE;
	}
	if (letter == 0) {
		dashes = i <= n && strcmp(v[i - 1], "--") == 0;
		if (i > n || v[i - 1][0] != '-' || !v[i - 1][1] || dashes) {
			index_set((i > n ? n + 1 : i) + dashes, 0);
			return var_unset("OPTARG") && var_set(argv[2], "?")
				   ? STATUS_ERROR
				   : STATUS_USAGE;
		}
		letter = 1;
	}
	if (i > n || strlen(v[i - 1]) <= letter) /* other words than before */
		return index_set(n + 1, 0), STATUS_ERROR;
	return take_option(argv[1], argv[2], v, n, i) ? 0 : STATUS_USAGE;
}
