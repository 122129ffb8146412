/* Numbers in text: see number.h. */
#include "number.h"

#include <errno.h>

/* The value of a digit, hexadecimal ones included, or -1. */
static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits only make n larger, so it fails as soon as n exceeds max. */
int
number_parse(const char *word, uint64_t max, uint64_t *out)
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
