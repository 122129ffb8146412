/* Characters of UTF-8, and the columns that a terminal gives them. */
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

/* Is the character of n bytes at s one, and does it do nothing to a terminal?
 * Beside ASCII's control characters there are those of U+0080 to U+009F. */
static inline bool
utf8_shows(const char *s, size_t n)
{
	unsigned char first = s[0], second = n > 1 ? s[1] : 0;

	if (n == 1)
		return first >= ' ' && first < 0x7f;
	return first != 0xc2 || second >= 0xa0;
}

/*
 * How many of the n bytes at s are its first character, and its width: 2 for
 * the wide ones of East Asia and pictures, 0 for marks that go onto the one
 * before, else 1. A byte that begins no character is one. n > 0.
 */
size_t utf8_next(const char *s, size_t n, int *width);

#endif
