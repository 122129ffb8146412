/* Kernel messages, to the console, and texts made in memory. */
#include "print.h"

#include "../lib/format.h"
#include "dev/uart.h"

static void
put_console(void *, char c)
{
	uart_print(c);
}

void
kvprintf(const char *fmt, va_list ap)
{
	uart_print_begin();
	format(put_console, NULL, fmt, ap);
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

struct text {
	char *buf;
	size_t size;
	size_t count; /* characters so far, those that didn't fit included */
};

static void
put_text(void *text, char c)
{
	struct text *t = text;

	if (t->count + 1 < t->size)
		t->buf[t->count] = c;
	t->count++;
}

int
ksnprintf(char *buf, size_t size, const char *fmt, ...)
{
	struct text t = {.buf = buf, .size = size};
	va_list ap;

	va_start(ap, fmt);
	format(put_text, &t, fmt, ap);
	va_end(ap);
	if (size > 0)
		buf[t.count < size ? t.count : size - 1] = '\0';
	return t.count;
}
