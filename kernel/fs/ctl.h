/*
 * Control files: devices that are told what to do by words of text, as in
 * `echo start >/dev/kpctl'. A device has a table of its words and a function
 * for each; its operation write hands both to ctl_write.
 */
#ifndef KERNEL_CTL_H
#define KERNEL_CTL_H

#include <stdint.h>
#include <sys/types.h>

struct uio;

/* A write is one line: a word and its arguments. An unknown word, or a wrong
 * number of arguments, is EINVAL, and a message on the console says which. */
#define CTL_ARGS 8 /* arguments after the first word, at most */

struct ctlword {
	const char *name;
	int (*run)(char **argv); /* argv[0] is the word; the last is NULL */
	int min, max;            /* arguments after the word */
};

/* Take the line from u and run its word; words ends with a NULL name. Returns
 * the size of the whole write, the word's negative errno, or -EINVAL. */
ssize_t ctl_write(struct uio *u, const struct ctlword *words);

#endif
