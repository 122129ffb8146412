/* Characters of UTF-8, and how many columns of a terminal they take. */
#ifndef LIB_UTF8_H
#define LIB_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_MAX 4 /* bytes of a character */

/* Is c a character's second byte, or a later one? */
static inline bool
utf8_continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/*
 * May the n bytes at s, of which utf8_next has said that they are one
 * character, be shown on a terminal? Not if they aren't valid, or are a control
 * character: one of ASCII's, or U+0080 to U+009F, which are C2 80 to C2 9F.
 */
static inline bool
utf8_shows(const char *s, size_t n)
{
	unsigned char first = s[0], second = n > 1 ? s[1] : 0;

	if (n == 1)
		return first >= ' ' && first < 0x7f;
	return first != 0xc2 || second >= 0xa0;
}

/*
 * Return how many of the n bytes at s are the first character; n > 0. *width is
 * how many columns it takes: 2 for the wide ones of East Asia and for pictures,
 * 0 for marks that combine with the character before, otherwise 1. A byte that
 * begins no valid character counts as a character of its own.
 */
size_t utf8_next(const char *s, size_t n, int *width);

#endif
