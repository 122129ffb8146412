/* See number.h. */
#include "number.h"

#include <errno.h>
#include <stdlib.h>

const char *
number_start(const char *text, int base, long min, long max, long *number)
{
	const char *digits = text + (*text == '-' && min < 0);
	char *end;
	long n;

	/* strtol takes blanks and a sign, too. */
	if (*digits < '0' || *digits >= '0' + base)
		return NULL;
	errno = 0;
	n = strtol(text, &end, base);
	if (errno || n < min || n > max)
		return NULL;
	*number = n;
	return end;
}

bool
number_read(const char *text, int base, long min, long max, long *number)
{
	long n;
	const char *end = number_start(text, base, min, max, &n);

	if (!end || *end)
		return false;
	*number = n;
	return true;
}
