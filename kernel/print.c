/* Kernel messages. */
#include "print.h"

#include <stdio.h>

#include "dev/uart.h"

void
kprintf(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	uart_print(text);
}
