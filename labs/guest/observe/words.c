/*
 * The words of a script's line, and of its answer.
 *
 * An operation takes the line's arguments one after another; `rest' is what it
 * hasn't taken yet. The answer begins with the line's token.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe.h"

#define PIECE 200 /* characters of a result in one line */

/*
 * Lab cow asks who shares the buffer's first page after a fork. A store to
 * anything beside the buffer would copy that page, and so would one to a page
 * before it, as lab cow may have neighbours copied, too: up to seven. So nobody
 * uses some pages before the buffer.
 */
static _Alignas(PAGE) struct {
	unsigned char unused[8 * PAGE];
	unsigned char buffer[BUFFER];
} pages;

unsigned char *const buffer = pages.buffer;
static const char *token;
static char *rest;

/* --- Arguments --- */

long
number(void)
{
	return strtoul(rest, &rest, 0);
}

char *
text(void)
{
	return *rest == ' ' ? rest + 1 : rest;
}

char *
word(void)
{
	char *start = text();

	rest = strchr(start, ' ');
	if (rest == NULL)
		rest = start + strlen(start);
	else
		*rest++ = '\0';
	return start;
}

static int
digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

size_t
bytes(void)
{
	size_t n = 0;

	for (const char *c = text(); c[0] != '\0' && c[1] != '\0'; c += 2)
		buffer[n++] = digit(c[0]) << 4 | digit(c[1]);
	return n;
}

bool
word_is(const char *word)
{
	size_t n = strlen(word);

	if (strncmp(text(), word, n) != 0)
		return false;
	rest = text() + n;
	return true;
}

char *
words_begin(char *line)
{
	rest = line;
	token = word();
	errno = 0;
	return word();
}

/* --- Answers --- */

static const struct {
	int number;
	const char *name;
} errors[] = {
    {EPERM, "EPERM"},   {ENOENT, "ENOENT"},   {ESRCH, "ESRCH"},
    {EINTR, "EINTR"},   {EIO, "EIO"},         {ENXIO, "ENXIO"},
    {E2BIG, "E2BIG"},   {EBADF, "EBADF"},     {ECHILD, "ECHILD"},
    {EAGAIN, "EAGAIN"}, {ENOMEM, "ENOMEM"},   {EACCES, "EACCES"},
    {EFAULT, "EFAULT"}, {EBUSY, "EBUSY"},     {EEXIST, "EEXIST"},
    {ENODEV, "ENODEV"}, {ENOTDIR, "ENOTDIR"}, {EISDIR, "EISDIR"},
    {EINVAL, "EINVAL"}, {EMFILE, "EMFILE"},   {ENOTTY, "ENOTTY"},
    {EFBIG, "EFBIG"},   {ENOSPC, "ENOSPC"},   {ESPIPE, "ESPIPE"},
    {EPIPE, "EPIPE"},   {ETXTBSY, "ETXTBSY"}, {ERANGE, "ERANGE"},
    {ENOSYS, "ENOSYS"},
};

const char *
error_name(int number)
{
	static char other[16];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number)
			return errors[i].name;
	snprintf(other, sizeof(other), "%d", number);
	return other;
}

/* Each line is one write, so that it stays whole. The token of a line that
 * isn't the last is followed by a +. */
void
answer(const char *text)
{
	char line[PIECE + 32];
	size_t left = strlen(text);

	for (;;) {
		int n = left < PIECE ? (int)left : PIECE;
		int size = snprintf(line, sizeof(line), "%s%c%.*s\n", token,
				    left > PIECE ? '+' : ' ', n, text);

		write(STDOUT_FILENO, line, size);
		text += n;
		left -= n;
		if (left == 0)
			return;
	}
}

void
answer_number(long result)
{
	char text[32];

	if (result < 0)
		snprintf(text, sizeof(text), "-%s", error_name(errno));
	else
		snprintf(text, sizeof(text), "%ld", result);
	answer(text);
}

void
answer_bytes(long result, size_t n)
{
	static char text[2 * BUFFER + 32];
	char *to = text;

	if (result < 0) {
		answer_number(result);
		return;
	}
	to += sprintf(to, "%ld ", result);
	for (size_t i = 0; i < n; i++) {
		*to++ = "0123456789abcdef"[buffer[i] >> 4];
		*to++ = "0123456789abcdef"[buffer[i] & 15];
	}
	*to = '\0';
	answer(text);
}
