/*
 * Kernel messages. A message may contain words that a program has chosen, such
 * as a process's name. ASCII's control characters other than newline are
 * therefore replaced by '?': so no escape sequence reaches the terminal, and no
 * DLE, with which the marks for scripts/run begin (tty/console.c).
 */
#include "print.h"

#include <stdio.h>

#define DELETE 0x7f

const struct printer *printer;

void
kprintf(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p != '\0'; p++)
		if (((unsigned char)*p < ' ' && *p != '\n') || *p == DELETE)
			*p = '?';
	printer->print(text);
}
