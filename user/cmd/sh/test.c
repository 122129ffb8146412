/*
 * test and [. With up to four arguments POSIX decides by their number what
 * is an operator and what an operand; the rest is a grammar of -o, -a, !
 * and parentheses. Both come out of one recursive descent that takes a word
 * for a binary operator before anything else.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sh.h"

#define BLANKS " \t\n"

struct test {
	char **arg; /* what is left; NULL at the end */
	bool failed;
};

static bool test_or(struct test *t);

static bool
test_error(struct test *t, const char *what, const char *why)
{
	if (!t->failed)
		shell_warn("test: %s: %s", what, why);
	t->failed = true;
	return false;
}

static bool
is(const char *arg, const char *s)
{
	return arg && strcmp(arg, s) == 0;
}

/* It may have blanks around it: wc prints such. */
static long
integer(struct test *t, const char *s)
{
	const char *start = s + strspn(s, BLANKS), *end;
	long value = 0;
	bool plus = *start == '+';

	end = number_start(start + plus, 10, plus ? 0 : LONG_MIN, LONG_MAX,
			   &value);
	if (!end || end[strspn(end, BLANKS)])
		test_error(t, s, "not a number");
	return value;
}

enum compared { LESS = 1, EQUAL = 2, GREATER = 4 };

static const struct {
	char text[4];
	int accepts; /* of enum compared */
} comparisons[] = {
    {"-eq", EQUAL},        {"-ne", LESS | GREATER}, {"-lt", LESS},
    {"-le", LESS | EQUAL}, {"-gt", GREATER},        {"-ge", GREATER | EQUAL},
};

/* Which comparison of integers this is; -1: none. */
static int
comparison(const char *op)
{
	size_t i;

	for (i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (is(op, comparisons[i].text))
			return comparisons[i].accepts;
	return -1;
}

static bool
compares_files(const char *op)
{
	return is(op, "-nt") || is(op, "-ot") || is(op, "-ef");
}

static bool
is_binary(const char *op)
{
	return op && (is(op, "=") || is(op, "!=") || compares_files(op) ||
		      comparison(op) >= 0);
}

/* A file that isn't there is older than any. */
static bool
is_newer(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) < 0)
		return false;
	return stat(b, &y) < 0 || x.st_mtim.tv_sec > y.st_mtim.tv_sec ||
	       (x.st_mtim.tv_sec == y.st_mtim.tv_sec &&
		x.st_mtim.tv_nsec > y.st_mtim.tv_nsec);
}

static bool
is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool
binary(struct test *t, const char *a, const char *op, const char *b)
{
	int accepts = comparison(op);
	long x, y;

	if (is(op, "=") || is(op, "!="))
		return (strcmp(a, b) == 0) == (*op == '=');
	if (is(op, "-ef"))
		return is_same(a, b);
	if (compares_files(op))
		return op[1] == 'n' ? is_newer(a, b) : is_newer(b, a);
	x = integer(t, a);
	y = integer(t, b);
	return accepts & (x < y ? LESS : x > y ? GREATER : EQUAL);
}

static bool
is_unary(const char *op)
{
	return op && op[0] == '-' && op[1] && !op[2] &&
	       strchr("cdefhLnprstwxz", op[1]);
}

static bool
unary(struct test *t, char op, const char *arg)
{
	struct stat st;
	long value;

	switch (op) {
	case 'n':
		return *arg != '\0';
	case 'z':
		return *arg == '\0';
	case 't':
		value = integer(t, arg);
		return value >= 0 && value <= INT_MAX && isatty(value);
	case 'r':
		return access(arg, R_OK) == 0;
	case 'w':
		return access(arg, W_OK) == 0;
	case 'x':
		return access(arg, X_OK) == 0;
	}
	if (op == 'h' || op == 'L')
		return lstat(arg, &st) == 0 && S_ISLNK(st.st_mode);
	if (stat(arg, &st) < 0)
		return false;
	switch (op) {
	case 'c':
		return S_ISCHR(st.st_mode);
	case 'd':
		return S_ISDIR(st.st_mode);
	case 'f':
		return S_ISREG(st.st_mode);
	case 'p':
		return S_ISFIFO(st.st_mode);
	case 's':
		return st.st_size > 0;
	default:
		return true;
	}
}

static bool
test_primary(struct test *t)
{
	char **arg = t->arg;
	bool result;

	if (!*arg)
		return test_error(t, "an operand", "missing");
	if (too_deep())
		return test_error(t, *arg, TOO_DEEP);
	if (is_binary(arg[1]) && arg[2]) {
		t->arg += 3;
		return binary(t, arg[0], arg[1], arg[2]);
	}
	if (is(*arg, "!") && arg[1]) {
		t->arg++;
		return !test_primary(t);
	}
	if (is(*arg, "(") && arg[1]) {
		t->arg++;
		result = test_or(t);
		if (!is(*t->arg, ")"))
			return test_error(t, ")", "missing");
		t->arg++;
		return result;
	}
	if (is_unary(*arg) && arg[1]) {
		t->arg += 2;
		return unary(t, arg[0][1], arg[1]);
	}
	t->arg++;
	return **arg != '\0';
}

static bool
test_and(struct test *t)
{
	bool result = test_primary(t);

	while (is(*t->arg, "-a") && !t->failed) {
		t->arg++;
		result &= test_primary(t);
	}
	return result;
}

static bool
test_or(struct test *t)
{
	bool result = test_and(t);

	while (is(*t->arg, "-o") && !t->failed) {
		t->arg++;
		result |= test_and(t);
	}
	return result;
}

int
builtin_test(int argc, char **argv)
{
	struct test t = {.arg = argv + 1};
	bool result;

	if (is(argv[0], "[")) {
		if (!is(argv[argc - 1], "]")) {
			test_error(&t, "]", "missing");
			return STATUS_USAGE;
		}
		argv[argc - 1] = NULL;
	}
	if (!*t.arg)
		return STATUS_ERROR;
	result = test_or(&t);
	if (*t.arg)
		test_error(&t, *t.arg, "unexpected");
	return t.failed ? STATUS_USAGE : !result;
}
