/* The shell's options: by letter, or by name after -o. */
#include <string.h>

#include "sh.h"

static const struct option {
	const char *name;
	char letter; /* '\0': it has only a name */
	bool *on;
} options[] = {
    {"allexport", 'a', &sh.opt_allexport}, {"errexit", 'e', &sh.opt_errexit},
    {"noclobber", 'C', &sh.opt_noclobber}, {"noexec", 'n', &sh.opt_noexec},
    {"noglob", 'f', &sh.opt_noglob},       {"nounset", 'u', &sh.opt_nounset},
    {"pipefail", '\0', &sh.opt_pipefail},  {"verbose", 'v', &sh.opt_verbose},
    {"xtrace", 'x', &sh.opt_xtrace},
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

bool
shell_is_option(const char *s)
{
	return (*s == '-' || *s == '+') && s[1] != '\0';
}

bool
shell_option(char letter, bool on)
{
	size_t i;

	for (i = 0; i < OPTIONS; i++) {
		if (options[i].letter && options[i].letter == letter) {
			*options[i].on = on;
			return true;
		}
	}
	return false;
}

bool
shell_option_named(const char *name, bool on)
{
	size_t i;

	for (i = 0; i < OPTIONS; i++) {
		if (strcmp(options[i].name, name) == 0) {
			*options[i].on = on;
			return true;
		}
	}
	return false;
}

const char *
shell_letters(void)
{
	static char letters[OPTIONS + 2];
	size_t i, n = 0;

	for (i = 0; i < OPTIONS; i++)
		if (*options[i].on && options[i].letter)
			letters[n++] = options[i].letter;
	if (sh.interactive)
		letters[n++] = 'i';
	letters[n] = '\0';
	return letters;
}

/* set -o is for people, set +o for a shell that is to be as this one is. */
static void
options_print(bool commands)
{
	size_t i;

	for (i = 0; i < OPTIONS; i++)
		if (commands)
			out_format("set %co %s\n", *options[i].on ? '-' : '+',
				   options[i].name);
		else
			out_format("%-10s %s\n", options[i].name,
				   *options[i].on ? "on" : "off");
}

/* Letters after - or +; each o takes a name. Gives the words that are used
 * up; 0: reported. */
static int
set_word(int argc, char **argv)
{
	bool on = argv[0][0] == '-';
	const char *s;
	int used = 1;

	for (s = argv[0] + 1; *s; s++) {
		const char *name = *s == 'o' ? argv[used] : NULL;

		if (*s == 'o' && used == argc) {
			options_print(!on);
		} else if (name && shell_option_named(name, on)) {
			used++;
		} else if (name || !shell_option(*s, on)) {
			shell_abort(STATUS_USAGE,
				    "set: -%c%s%s: no such option", *s,
				    name ? " " : "", name ? name : "");
			return 0;
		}
	}
	return used;
}

int
builtin_set(int argc, char **argv)
{
	int i, used;

	if (argc == 1)
		var_print(0, "");
	for (i = 1; i < argc && shell_is_option(argv[i]); i += used) {
		if (strcmp(argv[i], "--") == 0)
			break;
		used = set_word(argc - i, argv + i);
		if (used == 0)
			return STATUS_USAGE;
	}
	if (i < argc) {
		i += strcmp(argv[i], "--") == 0;
		params_set(argv + i, argc - i);
	}
	return 0;
}
