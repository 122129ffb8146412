/* Numbers that users give. */
#ifndef NUMBER_H
#define NUMBER_H

#include <limits.h>
#include <stdbool.h>

/*
 * The whole number that text begins with, in a base of at most 10, from min to
 * max: digits, after a minus if min is below 0; no blanks, no plus. Gives what
 * follows it. NULL: there is no such number, and *number is as it was.
 */
const char *number_start(const char *text, int base, long min, long max,
			 long *number);

/* Is all of text such a number? */
bool number_read(const char *text, int base, long min, long max, long *number);

#endif
