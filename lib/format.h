/* printf's formats: lib/format.c. */
#ifndef LIB_FORMAT_H
#define LIB_FORMAT_H

#include <stdarg.h>

/*
 * Hand put(to, c) each character c of what fmt says of ap: %d %u %x %c %s %p
 * %%, with l and z, as in printf, but no widths.
 */
void format(void (*put)(void *to, char c), void *to, const char *fmt,
	    va_list ap);

#endif
