/*
 * UTF-8, for the line discipline and for programs that lay out text.
 *
 * A character's first byte says how many it has: 0xxxxxxx one, 110xxxxx two,
 * 1110xxxx three, 11110xxx four. The others are 10xxxxxx. The widths are those
 * of whole blocks of Unicode, as terminals have them: there is no table of each
 * character.
 */
#include "utf8.h"

#include <stdint.h>

#define LAST 0x10ffff /* character of Unicode */

struct range {
	uint32_t first, last;
};

/* Width 0: marks, joiners and variation selectors. */
static const struct range narrow[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},   {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
};

/* Width 2: East Asian characters, and pictures. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static bool
in_ranges(uint32_t c, const struct range *r, size_t n)
{
	for (; n > 0; n--, r++)
		if (c >= r->first && c <= r->last)
			return true;
	return false;
}

static int
width_of(uint32_t c)
{
	if (in_ranges(c, narrow, sizeof(narrow) / sizeof(narrow[0])))
		return 0;
	return in_ranges(c, wide, sizeof(wide) / sizeof(wide[0])) ? 2 : 1;
}

/* How many bytes a character with this first byte has. It is 1 if no character
 * begins with it: a continuation byte, or 0xf8 and above. */
static size_t
length_by(unsigned char first)
{
	if (first >= 0xf0 && first < 0xf8)
		return 4;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xc0 && first < 0xe0 ? 2 : 1;
}

/*
 * A sequence is no character if it is cut short, longer than necessary, beyond
 * LAST, or a surrogate (U+D800 to U+DFFF). Its first byte then counts as one.
 */
size_t
utf8_next(const char *s, size_t n, int *width)
{
	/* By length, the first character that needs so many bytes. */
	static const uint32_t least[] = {[2] = 0x80, 0x800, 0x10000};
	size_t length = length_by(*s);
	uint32_t c = *s & (0xff >> (length + 1));

	*width = 1;
	if (length == 1 || length > n)
		return 1;
	for (size_t i = 1; i < length; i++) {
		if (!utf8_continues(s[i]))
			return 1;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[length] || c > LAST || (c >= 0xd800 && c < 0xe000))
		return 1;
	*width = width_of(c);
	return length;
}
