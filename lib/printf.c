/*
 * snprintf and vsnprintf, for the kernel's messages and the texts of its
 * devices. They do what the C library's do, but know only %d %u %x %c %s %p %%,
 * with l and z, no widths.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DIGITS_MAX 20 /* of a 64-bit number in base 10 */

struct text {
	char *buf;
	size_t size;
	size_t count; /* characters so far, those that didn't fit included */
};

/* Append a character, but leave room for the NUL. What doesn't fit is counted
 * only: vsnprintf returns how long the whole text would be. */
static void
put(struct text *t, char c)
{
	if (t->count + 1 < t->size)
		t->buf[t->count] = c;
	t->count++;
}

static void
put_string(struct text *t, const char *str)
{
	if (!str)
		str = "(null)";
	while (*str)
		put(t, *str++);
}

static void
put_number(struct text *t, unsigned long value, unsigned int base)
{
	char digits[DIGITS_MAX];
	int n = 0;

	do
		digits[n++] = "0123456789abcdef"[value % base];
	while (value /= base);
	while (n > 0)
		put(t, digits[--n]);
}

/* Negated as an unsigned number: the smallest long has no positive one. */
static void
put_signed(struct text *t, long value)
{
	unsigned long magnitude = value;

	if (value < 0) {
		put(t, '-');
		magnitude = -magnitude;
	}
	put_number(t, magnitude, 10);
}

/*
 * The compiler checks the format against the arguments at each call. So a
 * letter that isn't in the list can only be the second % of %%. l and z are the
 * same: a long and a size_t both have 64 bits.
 */
static void
format(struct text *t, const char *fmt, va_list ap)
{
	for (; *fmt; fmt++) {
		bool wide = false;

		if (*fmt != '%') {
			put(t, *fmt);
			continue;
		}
		while (*++fmt == 'l' || *fmt == 'z')
			wide = true;
		switch (*fmt) {
		case 'd':
			put_signed(t,
				   wide ? va_arg(ap, long) : va_arg(ap, int));
			break;
		case 'u':
		case 'x':
			put_number(t,
				   wide ? va_arg(ap, unsigned long)
					: va_arg(ap, unsigned int),
				   *fmt == 'x' ? 16 : 10);
			break;
		case 'p':
			put_string(t, "0x");
			put_number(t, va_arg(ap, uintptr_t), 16);
			break;
		case 's':
			put_string(t, va_arg(ap, const char *));
			break;
		case 'c':
			put(t, va_arg(ap, int));
			break;
		default:
			put(t, *fmt);
		}
	}
}

int
vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct text t = {.buf = buf, .size = size};

	format(&t, fmt, ap);
	if (size > 0)
		buf[t.count < size ? t.count : size - 1] = '\0';
	return t.count;
}

int
snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}
