/*
 * String functions for the kernel, which is linked without the C library. They
 * do what that library's do. The ones that move bulk data are in string.S.
 */
#include <string.h>

/* Without this the compiler recognizes the loop in strlen as a strlen, and
 * replaces it with a call: of itself, without end. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")

int
memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (; n > 0; n--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

void *
memchr(const void *s, int c, size_t n)
{
	const unsigned char *p = s;

	for (; n > 0; n--, p++)
		if (*p == (unsigned char)c)
			return (void *)p;
	return NULL;
}

size_t
strlen(const char *s)
{
	const char *p = s;

	while (*p != '\0')
		p++;
	return p - s;
}

int
strcmp(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b)
		a++, b++;
	return (unsigned char)*a - (unsigned char)*b;
}

int
strncmp(const char *a, const char *b, size_t n)
{
	while (n > 0 && *a != '\0' && *a == *b)
		a++, b++, n--;
	return n == 0 ? 0 : (unsigned char)*a - (unsigned char)*b;
}

char *
strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (*s == '\0')
			return NULL;
	return (char *)s;
}

char *
strrchr(const char *s, int c)
{
	const char *last = NULL;

	do {
		if (*s == (char)c)
			last = s;
	} while (*s++ != '\0');
	return (char *)last;
}

size_t
strlcpy(char *dst, const char *src, size_t size)
{
	size_t len = strlen(src);

	if (size > 0) {
		size_t n = len < size ? len : size - 1;

		memcpy(dst, src, n);
		dst[n] = '\0';
	}
	return len;
}

char *
strtok_r(char *s, const char *separators, char **rest)
{
	char *word;

	if (s == NULL)
		s = *rest;
	while (*s != '\0' && strchr(separators, *s) != NULL)
		s++;
	word = s;
	while (*s != '\0' && strchr(separators, *s) == NULL)
		s++;
	if (*s != '\0')
		*s++ = '\0';
	*rest = s;
	return *word != '\0' ? word : NULL;
}
