/*
 * getopt(3), for options of one letter. The C library's loses the letter of
 * an unknown option, trips over an operand `-`, and starts with optind 0.
 *
 * All names are weak: a program that calls getopt_long gets that one from the
 * C library, and with it the variables and the getopt that go together.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WEAK __attribute__((weak))

WEAK char *optarg;
WEAK int optind = 1, opterr = 1, optopt;

static char *place = ""; /* in a word of several options: the next */

/* An option is wrong: tell the user, unless the caller will. */
static int
complain(const char *name, const char *options, const char *what)
{
	if (opterr != 0 && options[0] != ':')
		fprintf(stderr, "%s: %s -- %c\n", name, what, optopt);
	return '?';
}

/* The value of option optopt: the rest of its word, or the next word. */
static int
take_value(int argc, char *const argv[], const char *options)
{
	char *rest = place;

	place = "";
	if (*rest != '\0') {
		optarg = rest;
		return optopt;
	}
	if (optind < argc) {
		optarg = argv[optind++];
		return optopt;
	}
	complain(argv[0], options, "option requires an argument");
	return options[0] == ':' ? ':' : '?';
}

WEAK int
getopt(int argc, char *const argv[], const char *options)
{
	const char *found;

	if (*place == '\0') {
		char *word = optind < argc ? argv[optind] : NULL;

		if (word == NULL || word[0] != '-' || word[1] == '\0')
			return -1;
		optind++;
		if (word[1] == '-' && word[2] == '\0')
			return -1;
		place = word + 1;
	}
	optopt = (unsigned char)*place++;
	found = optopt != ':' ? strchr(options, optopt) : NULL;
	if (found == NULL)
		return complain(argv[0], options, "illegal option");
	if (found[1] == ':')
		return take_value(argc, argv, options);
	return optopt;
}
