/* The one parser of all control files: see ctl.h. */
#include "ctl.h"

#include <errno.h>
#include <string.h>

#include "base/print.h"

#include "uio.h"

#define LINE_MAX 256 /* bytes of one write, with a NUL */
#define BLANKS   " \t\n"

/* Cut line into words, in place: their number; -EINVAL if more than max. */
static int
split(char *line, char **argv, int max)
{
	char *word, *rest;
	int argc = 0;

	for (; (word = strtok_r(line, BLANKS, &rest)) != NULL; line = NULL) {
		if (argc == max)
			return -EINVAL;
		argv[argc++] = word;
	}
	return argc;
}

/* Errors go to the console as well: an errno can't tell which word is wrong. */
static int
dispatch(int argc, char **argv, const struct ctlword *words)
{
	for (const struct ctlword *w = words; w->name; w++) {
		if (strcmp(argv[0], w->name) != 0)
			continue;
		if (argc - 1 < w->min || argc - 1 > w->max) {
			kprintf("%s: wrong number of arguments\n", w->name);
			return -EINVAL;
		}
		return w->run(argv);
	}
	kprintf("%s: unknown control word\n", argv[0]);
	return -EINVAL;
}

/* A line that is too long, or has a control character other than a blank, is
 * refused as a whole: nothing of it is run. */
ssize_t
ctl_write(struct uio *u, const struct ctlword *words)
{
	size_t size = u->left;
	char line[LINE_MAX];
	char *argv[1 + CTL_ARGS + 1];
	ssize_t n;
	int argc, error;

	if (size >= sizeof(line))
		return -EINVAL;
	n = uio_from(u, line, size);
	if (n < 0)
		return n;
	line[n] = '\0';
	for (ssize_t i = 0; i < n; i++) /* a NUL would hide what follows */
		if ((unsigned char)line[i] < ' ' &&
		    !memchr(BLANKS, line[i], sizeof(BLANKS) - 1))
			return -EINVAL;
	argc = split(line, argv, 1 + CTL_ARGS);
	if (argc <= 0)
		return -EINVAL;
	argv[argc] = NULL;
	error = dispatch(argc, argv, words);
	return error ? error : (ssize_t)size;
}
