/*
 * Kernel messages: a small printf, to the console or to memory.
 */
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "dev/uart.h"
#include "print.h"

/* Where the formatted characters go: to memory if buf is set. */
struct sink {
	char *buf;
	size_t size;  /* of buf */
	size_t count; /* characters so far, those that didn't fit included */
	bool uart;
};

/* One conversion: "%-08.*lx" and the like. */
struct spec {
	bool left, zero;
	int width, precision; /* precision -1: none */
	int longs;            /* how many l (z is one l) */
};

/* Digits of a 64-bit number in base 8, the longest, and a sign. */
#define NUMBER_MAX 24

static void
put(struct sink *s, char c)
{
	if (s->uart)
		uart_print(c);
	else if (s->count + 1 < s->size)
		s->buf[s->count] = c;
	s->count++;
}

static void
put_times(struct sink *s, char c, int n)
{
	while (n-- > 0)
		put(s, c);
}

static void
put_padded(struct sink *s, const struct spec *sp, const char *str, int len)
{
	if (!sp->left)
		put_times(s, ' ', sp->width - len);
	for (int i = 0; i < len; i++)
		put(s, str[i]);
	if (sp->left)
		put_times(s, ' ', sp->width - len);
}

static void
put_string(struct sink *s, const struct spec *sp, const char *str)
{
	size_t len = 0;

	if (!str)
		str = "(null)";
	/* With a precision, str need not end in a NUL. */
	while (len != (size_t)sp->precision && str[len])
		len++;
	put_padded(s, sp, str, len);
}

/* Zeroes go between the sign and the digits. */
static void
put_number(struct sink *s, const struct spec *sp, unsigned long value,
	   unsigned int base, const char *sign)
{
	char buf[NUMBER_MAX];
	char *p = buf + sizeof(buf);
	struct spec rest = *sp;
	int signs = strlen(sign);

	do
		*--p = "0123456789abcdef"[value % base];
	while (value /= base);
	if (sp->zero && !sp->left) {
		for (int i = 0; i < signs; i++)
			put(s, sign[i]);
		put_times(s, '0', sp->width - signs - (buf + sizeof(buf) - p));
		rest.width = 0;
	} else {
		while (signs > 0)
			*--p = sign[--signs];
	}
	put_padded(s, &rest, p, buf + sizeof(buf) - p);
}

/* Read flags, width, precision and length; gives where the letter is. */
static const char *
parse_spec(struct spec *sp, const char *f, va_list *ap)
{
	*sp = (struct spec){.precision = -1};
	for (; *f == '-' || *f == '0'; f++) {
		if (*f == '-')
			sp->left = true;
		else
			sp->zero = true;
	}
	if (*f == '*') {
		sp->width = va_arg(*ap, int);
		f++;
	}
	for (; *f >= '0' && *f <= '9'; f++)
		sp->width = sp->width * 10 + (*f - '0');
	if (*f == '.') {
		sp->precision = 0;
		if (*++f == '*') {
			sp->precision = va_arg(*ap, int);
			f++;
		}
		for (; *f >= '0' && *f <= '9'; f++)
			sp->precision = sp->precision * 10 + (*f - '0');
	}
	for (; *f == 'l' || *f == 'z'; f++)
		sp->longs++;
	return f;
}

static void
put_signed(struct sink *s, const struct spec *sp, va_list *ap)
{
	long v = sp->longs ? va_arg(*ap, long) : va_arg(*ap, int);

	put_number(s, sp, v < 0 ? -(unsigned long)v : (unsigned long)v, 10,
		   v < 0 ? "-" : "");
}

static void
put_unsigned(struct sink *s, const struct spec *sp, unsigned int base,
	     va_list *ap)
{
	put_number(s, sp,
		   sp->longs ? va_arg(*ap, unsigned long)
			     : va_arg(*ap, unsigned int),
		   base, "");
}

/* Print one conversion by its letter; an unknown letter prints as it is. */
static void
put_conversion(struct sink *s, const struct spec *sp, char letter, va_list *ap)
{
	char c = letter;

	switch (letter) {
	case 'd':
	case 'i':
		put_signed(s, sp, ap);
		return;
	case 'u':
		put_unsigned(s, sp, 10, ap);
		return;
	case 'x':
		put_unsigned(s, sp, 16, ap);
		return;
	case 'o':
		put_unsigned(s, sp, 8, ap);
		return;
	case 'p':
		put_number(s, sp, va_arg(*ap, uintptr_t), 16, "0x");
		return;
	case 's':
		put_string(s, sp, va_arg(*ap, const char *));
		return;
	case 'c':
		c = va_arg(*ap, int);
		break;
	}
	put_padded(s, sp, &c, 1);
}

static void
format(struct sink *s, const char *fmt, va_list *ap)
{
	struct spec sp;

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(s, *fmt);
			continue;
		}
		fmt = parse_spec(&sp, fmt + 1, ap);
		if (!*fmt)
			return;
		put_conversion(s, &sp, *fmt, ap);
	}
}

void
kvprintf(const char *fmt, va_list ap)
{
	struct sink s = {.uart = true};
	va_list args;

	va_copy(args, ap);
	uart_print_begin();
	format(&s, fmt, &args);
	uart_print_end();
	va_end(args);
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
	format(&s, fmt, &ap);
	va_end(ap);
	if (size > 0)
		buf[s.count < size ? s.count : size - 1] = '\0';
	return s.count;
}
