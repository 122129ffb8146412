/*
 * fnmatch(3), of bytes. When the text doesn't go on as the pattern does, the
 * last star takes another byte, and none before it: what those left over was
 * matched as early as it could be. So the time is at most that of the
 * pattern's length times the text's, where the C library's had no bound.
 */
#define _GNU_SOURCE /* FNM_CASEFOLD, FNM_LEADING_DIR */
#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

static const struct class
{
	const char *name;
	int (*has)(int c);
} classes[] = {
    {"alnum:]", isalnum}, {"alpha:]", isalpha}, {"blank:]", isblank},
    {"cntrl:]", iscntrl}, {"digit:]", isdigit}, {"graph:]", isgraph},
    {"lower:]", islower}, {"print:]", isprint}, {"punct:]", ispunct},
    {"space:]", isspace}, {"upper:]", isupper}, {"xdigit:]", isxdigit},
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static unsigned char
folded(unsigned char c, int flags)
{
	return flags & FNM_CASEFOLD ? tolower(c) : c;
}

/* A byte of the pattern, perhaps behind a backslash; *p moves on. */
static unsigned char
take(const char **p, int flags)
{
	if (**p == '\\' && (*p)[1] && !(flags & FNM_NOESCAPE))
		++*p;
	return *(*p)++;
}

/* [:NAME:] at p: what follows, and whether c is in it; NULL: it's none. */
static const char *
class_match(const char *p, unsigned char c, bool *found)
{
	for (size_t i = 0; strncmp(p, "[:", 2) == 0 && i < CLASSES; i++) {
		size_t n = strlen(classes[i].name);

		if (strncmp(p + 2, classes[i].name, n) == 0) {
			*found |= classes[i].has(c) != 0;
			return p + 2 + n;
		}
	}
	return NULL;
}

/* Is c in the brackets that are open before p? Gives what follows them, or NULL
 * if they aren't closed. */
static const char *
brackets(const char *p, unsigned char c, int flags, bool *in)
{
	bool others = *p == '!' || *p == '^', found = false;
	const char *first = others ? p + 1 : p;

	p = first;
	while (*p && (*p != ']' || p == first)) {
		const char *behind = class_match(p, c, &found);
		unsigned char low, high;

		if (behind) {
			p = behind;
			continue;
		}
		low = high = folded(take(&p, flags), flags);
		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			high = folded(take(&p, flags), flags);
		}
		found |= low <= folded(c, flags) && folded(c, flags) <= high;
	}
	*in = found != others;
	return *p ? p + 1 : NULL;
}

/* Does what is at *p, which is no star, match the byte c? *p moves on. */
static bool
one(const char **p, unsigned char c, bool plain, int flags)
{
	const char *behind;
	bool in;

	if (**p == '?') {
		++*p;
		return !plain;
	}
	if (**p == '[' && (behind = brackets(*p + 1, c, flags, &in))) {
		*p = behind;
		return in && !plain;
	}
	return **p && folded(take(p, flags), flags) == folded(c, flags);
}

int
fnmatch(const char *pattern, const char *text, int flags)
{
	const char *p = pattern, *s = text, *star = NULL, *from = NULL;

	for (;;) {
		bool slash = *s == '/' && (flags & FNM_PATHNAME);
		bool hidden = *s == '.' && (flags & FNM_PERIOD) &&
			      (s == text ||
			       ((flags & FNM_PATHNAME) && s[-1] == '/'));

		if (*p == '*' && hidden)
			return FNM_NOMATCH;
		if (*p == '*') {
			star = ++p;
			from = s;
			continue;
		}
		if (*p == '\0' &&
		    (*s == '\0' || (*s == '/' && (flags & FNM_LEADING_DIR))))
			return 0;
		if (*s == '\0')
			return FNM_NOMATCH;
		if (one(&p, *s, slash || hidden, flags)) {
			s++;
			continue;
		}
		if (!star || (*from == '/' && (flags & FNM_PATHNAME)))
			return FNM_NOMATCH;
		p = star;
		s = ++from;
	}
}
