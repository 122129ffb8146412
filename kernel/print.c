/* Kernel messages. */
#include "print.h"

#include <stdio.h>

#include "dev/uart.h"

#define MESSAGE_MAX 256 /* bytes, with a NUL; what is longer is cut */

void
kvprintf(const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX];

	vsnprintf(text, sizeof text, fmt, ap);
	uart_print(text);
}

void
kprintf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kvprintf(fmt, ap);
	va_end(ap);
}
