/*
 * Kernel messages. A program may have chosen words in them, a process's name
 * for one: none of its bytes does anything to a terminal, or is taken for a
 * mark by scripts/run.
 */
#include "print.h"

#include <stdio.h>

#include "dev/uart.h"

#define DELETE 0x7f

void
kprintf(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (char *p = text; *p != '\0'; p++)
		if (((unsigned char)*p < ' ' && *p != '\n') || *p == DELETE)
			*p = '?';
	uart_print(text);
}
