/*
 * What printf makes of its arguments, for the kernel's messages and texts: as
 * much of it as they need.
 */
#include "format.h"

#include <stdbool.h>
#include <stdint.h>

#define DIGITS_MAX 20 /* of a 64-bit number in base 10 */

/* Where the characters go. */
struct sink {
	void (*put)(void *to, char c);
	void *to;
};

static void
put(const struct sink *s, char c)
{
	s->put(s->to, c);
}

static void
put_string(const struct sink *s, const char *str)
{
	if (!str)
		str = "(null)";
	while (*str)
		put(s, *str++);
}

static void
put_number(const struct sink *s, unsigned long value, unsigned int base)
{
	char digits[DIGITS_MAX];
	int n = 0;

	do
		digits[n++] = "0123456789abcdef"[value % base];
	while (value /= base);
	while (n > 0)
		put(s, digits[--n]);
}

static void
put_signed(const struct sink *s, long value)
{
	unsigned long magnitude = value;

	if (value < 0) {
		put(s, '-');
		magnitude = -magnitude;
	}
	put_number(s, magnitude, 10);
}

/* The compiler has checked fmt against what follows it: what is no other
 * letter here is a second %. */
void
format(void (*put_to)(void *to, char c), void *to, const char *fmt, va_list ap)
{
	const struct sink s = {.put = put_to, .to = to};

	for (; *fmt; fmt++) {
		bool wide = false;

		if (*fmt != '%') {
			put(&s, *fmt);
			continue;
		}
		while (*++fmt == 'l' || *fmt == 'z')
			wide = true;
		switch (*fmt) {
		case 'd':
			put_signed(&s,
				   wide ? va_arg(ap, long) : va_arg(ap, int));
			break;
		case 'u':
		case 'x':
			put_number(&s,
				   wide ? va_arg(ap, unsigned long)
					: va_arg(ap, unsigned int),
				   *fmt == 'x' ? 16 : 10);
			break;
		case 'p':
			put_string(&s, "0x");
			put_number(&s, va_arg(ap, uintptr_t), 16);
			break;
		case 's':
			put_string(&s, va_arg(ap, const char *));
			break;
		case 'c':
			put(&s, va_arg(ap, int));
			break;
		default:
			put(&s, *fmt);
		}
	}
}
