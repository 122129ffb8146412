/*
 * Kernel messages: a small printf, to the console or to memory.
 */
#include <stdarg.h>
#include <stdint.h>

#include "dev/uart.h"
#include "print.h"

/* Where the formatted characters go: to memory, or if buf is NULL to the
 * console. */
struct sink {
	char *buf;
	size_t size;  /* of buf */
	size_t count; /* characters so far, those that didn't fit included */
};

#define DIGITS_MAX 20 /* of a 64-bit number in base 10 */

static void
put(struct sink *s, char c)
{
	if (!s->buf)
		uart_print(c);
	else if (s->count + 1 < s->size)
		s->buf[s->count] = c;
	s->count++;
}

static void
put_string(struct sink *s, const char *str)
{
	if (!str)
		str = "(null)";
	while (*str)
		put(s, *str++);
}

static void
put_number(struct sink *s, unsigned long value, unsigned int base)
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
put_signed(struct sink *s, long value)
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
static void
format(struct sink *s, const char *fmt, va_list ap)
{
	for (; *fmt; fmt++) {
		bool wide = false;

		if (*fmt != '%') {
			put(s, *fmt);
			continue;
		}
		while (*++fmt == 'l' || *fmt == 'z')
			wide = true;
		switch (*fmt) {
		case 'd':
			put_signed(s,
				   wide ? va_arg(ap, long) : va_arg(ap, int));
			break;
		case 'u':
		case 'x':
			put_number(s,
				   wide ? va_arg(ap, unsigned long)
					: va_arg(ap, unsigned int),
				   *fmt == 'x' ? 16 : 10);
			break;
		case 'p':
			put_string(s, "0x");
			put_number(s, va_arg(ap, uintptr_t), 16);
			break;
		case 's':
			put_string(s, va_arg(ap, const char *));
			break;
		case 'c':
			put(s, va_arg(ap, int));
			break;
		default:
			put(s, *fmt);
		}
	}
}

void
kvprintf(const char *fmt, va_list ap)
{
	struct sink console = {.buf = NULL};

	uart_print_begin();
	format(&console, fmt, ap);
	uart_print_end();
}

void
kprintf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kvprintf(fmt, ap);
	va_end(ap);
}

/* Gives the length of the whole text; buf gets what fits, with a NUL. */
int
ksnprintf(char *buf, size_t size, const char *fmt, ...)
{
	struct sink s = {.buf = buf, .size = size};
	va_list ap;

	va_start(ap, fmt);
	format(&s, fmt, ap);
	va_end(ap);
	if (size > 0)
		buf[s.count < size ? s.count : size - 1] = '\0';
	return s.count;
}
