/* See show.h. */
#include "show.h"

#include <string.h>

#include "../../lib/utf8.h"

char *
show_name(char *text)
{
	const char *from = text, *end = text + strlen(text);
	char *to = text;

	while (from < end) {
		int width;
		size_t n = utf8_next(from, end - from, &width);

		if (utf8_shows(from, n))
			to = (char *)memmove(to, from, n) + n;
		else
			*to++ = '?';
		from += n;
	}
	*to = '\0';
	return text;
}

size_t
show_columns(const char *name)
{
	size_t left = strlen(name), columns = 0;

	while (left > 0) {
		int width;
		size_t n = utf8_next(name, left, &width);

		columns += width;
		name += n;
		left -= n;
	}
	return columns;
}

size_t
show_fit(const char *text, size_t columns)
{
	size_t size = strlen(text), at = 0;

	while (at < size) {
		int width;
		size_t n = utf8_next(text + at, size - at, &width);

		if ((size_t)width > columns)
			break;
		columns -= width;
		at += n;
	}
	return at;
}
