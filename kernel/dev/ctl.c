/* Control files' one parser: see dev.h. */
#include <errno.h>
#include <string.h>

#include "../print.h"
#include "dev.h"

#define LINE_MAX 256 /* bytes of one write, with a NUL */
#define BLANKS   " \t\n"

/* Cut line into words, in place; their number, or -EINVAL: too many. */
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

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
ctl_number(const char *word, uint64_t max, uint64_t *out)
{
	unsigned int base = 10;
	uint64_t n = 0;

	if (word[0] == '0' && (word[1] | 0x20) == 'x') {
		base = 16;
		word += 2;
	}
	if (!*word)
		return -EINVAL;
	for (; *word; word++) {
		int d = digit(*word);

		if (d < 0 || (unsigned int)d >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, (unsigned int)d, &n) || n > max)
			return -EINVAL;
	}
	*out = n;
	return 0;
}

/* Find the first word in the table, and run it with the others. What is wrong
 * is said on the console, as an errno can't tell which word it was. */
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

ssize_t
ctl_write(struct uio *u, const struct ctlword *words)
{
	size_t size = u->left;
	char line[LINE_MAX];
	char *argv[1 + CTL_ARGS + 1];
	ssize_t n;
	int argc, err;

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
	err = dispatch(argc, argv, words);
	return err ? err : (ssize_t)size;
}
