/*
 * $(( )): C's integer operators on long, with variables and assignment.
 * Binary operators are parsed by climbing through their precedences. What
 * && || and ?: leave out is parsed all the same, but neither assigns nor
 * divides. Arithmetic wraps around.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sh.h"

#define BITS_MASK (sizeof(long) * CHAR_BIT - 1)

struct arith {
	const char *s; /* what is left */
	bool failed;
	int skip; /* > 0: parse, but without effect */
};

enum op {
	OP_OR,
	OP_AND,
	OP_BITOR,
	OP_BITXOR,
	OP_BITAND,
	OP_EQ,
	OP_NE,
	OP_LE,
	OP_GE,
	OP_LT,
	OP_GT,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD
};

/* In the order to look for them: a longer one before its beginning. */
static const struct binary {
	char text[3];
	enum op op;
	int precedence;
} binaries[] = {
    {"||", OP_OR, 1},    {"&&", OP_AND, 2},   {"==", OP_EQ, 6},
    {"!=", OP_NE, 6},    {"<=", OP_LE, 7},    {">=", OP_GE, 7},
    {"<<", OP_SHL, 8},   {">>", OP_SHR, 8},   {"|", OP_BITOR, 3},
    {"^", OP_BITXOR, 4}, {"&", OP_BITAND, 5}, {"<", OP_LT, 7},
    {">", OP_GT, 7},     {"+", OP_ADD, 9},    {"-", OP_SUB, 9},
    {"*", OP_MUL, 10},   {"/", OP_DIV, 10},   {"%", OP_MOD, 10},
};

static long arith_assign(struct arith *a);

static long
arith_error(struct arith *a, const char *message)
{
	if (!a->failed)
		shell_abort(STATUS_USAGE, "arithmetic: %s", message);
	a->failed = true;
	a->s = "";
	return 0;
}

static void
blanks(struct arith *a)
{
	while (isspace((unsigned char)*a->s))
		a->s++;
}

static bool
accept(struct arith *a, char c)
{
	blanks(a);
	if (*a->s != c)
		return false;
	a->s++;
	return true;
}

/* The length of the name that starts here; 0: none does. */
static size_t
name_length(struct arith *a)
{
	size_t n = 0;

	blanks(a);
	if (isdigit((unsigned char)*a->s))
		return 0;
	while (is_name_char((unsigned char)a->s[n]))
		n++;
	return n;
}

static const struct binary *
binary_find(struct arith *a)
{
	size_t i;

	blanks(a);
	for (i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
		if (strncmp(a->s, binaries[i].text, strlen(binaries[i].text)) ==
		    0)
			return &binaries[i];
	return NULL;
}

static long
divide(struct arith *a, enum op op, long x, long y)
{
	if (a->skip)
		return 0;
	if (y == 0)
		return arith_error(a, "division by zero");
	if (y == -1) /* LONG_MIN has no positive */
		return op == OP_DIV ? (long)(0 - (unsigned long)x) : 0;
	return op == OP_DIV ? x / y : x % y;
}

static long
apply(struct arith *a, enum op op, long x, long y)
{
	unsigned long ux = x, uy = y;

	switch (op) {
	case OP_OR:
		return x || y;
	case OP_AND:
		return x && y;
	case OP_BITOR:
		return x | y;
	case OP_BITXOR:
		return x ^ y;
	case OP_BITAND:
		return x & y;
	case OP_EQ:
		return x == y;
	case OP_NE:
		return x != y;
	case OP_LE:
		return x <= y;
	case OP_GE:
		return x >= y;
	case OP_LT:
		return x < y;
	case OP_GT:
		return x > y;
	case OP_SHL:
		return ux << (uy & BITS_MASK);
	case OP_SHR:
		return x >> (uy & BITS_MASK);
	case OP_ADD:
		return ux + uy;
	case OP_SUB:
		return ux - uy;
	case OP_MUL:
		return ux * uy;
	default:
		return divide(a, op, x, y);
	}
}

/* A constant as in C, at *s, which moves on. As others are, 2^63 is one: it
 * wraps, so that its negative is right; and so are all bits of a register,
 * unless they are written in decimal. */
static long
constant(struct arith *a, const char **s)
{
	bool decimal = **s != '0';
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(*s, &end, 0);
	*s = end;
	if (errno || (decimal && value > 1UL << 63))
		return arith_error(a, "a number is too large");
	return value;
}

static long
variable(struct arith *a, const char *name)
{
	const char *s = var_get(name);
	bool negative;
	long value;

	if (!s || *s == '\0')
		return 0;
	while (isspace((unsigned char)*s))
		s++;
	negative = *s == '-';
	s += negative || *s == '+';
	if (!isdigit((unsigned char)*s))
		return arith_error(a, "a variable isn't a number");
	value = constant(a, &s);
	while (isspace((unsigned char)*s))
		s++;
	if (*s)
		return arith_error(a, "a variable isn't a number");
	return negative ? (long)(0 - (unsigned long)value) : value;
}

static long
arith_primary(struct arith *a)
{
	size_t n = name_length(a);
	long value;

	if (n > 0) {
		a->s += n;
		return variable(a, arena_strndup(scratch, a->s - n, n));
	}
	if (accept(a, '(')) {
		value = arith_assign(a);
		if (!accept(a, ')'))
			arith_error(a, "missing )");
		return value;
	}
	if (!isdigit((unsigned char)*a->s))
		return arith_error(a, "a number or variable is missing");
	value = constant(a, &a->s);
	if (is_name_char((unsigned char)*a->s))
		return arith_error(a, "bad number");
	return value;
}

static long
arith_unary(struct arith *a)
{
	if (too_deep())
		return arith_error(a, TOO_DEEP);
	if (accept(a, '+'))
		return arith_unary(a);
	if (accept(a, '-'))
		return 0 - (unsigned long)arith_unary(a);
	if (accept(a, '~'))
		return ~arith_unary(a);
	if (accept(a, '!'))
		return !arith_unary(a);
	return arith_primary(a);
}

/* Operators of at least this precedence; all group to the left. */
static long
arith_binary(struct arith *a, int precedence)
{
	long x = arith_unary(a), y;
	const struct binary *b;

	while ((b = binary_find(a)) && b->precedence >= precedence) {
		bool decided = (b->op == OP_OR && x) || (b->op == OP_AND && !x);

		a->s += strlen(b->text);
		a->skip += decided;
		y = arith_binary(a, b->precedence + 1);
		a->skip -= decided;
		x = apply(a, b->op, x, y);
	}
	return x;
}

static long
arith_condition(struct arith *a)
{
	long which = arith_binary(a, 1), yes, no;

	if (!accept(a, '?'))
		return which;
	a->skip += !which;
	yes = arith_assign(a);
	a->skip -= !which;
	if (!accept(a, ':'))
		return arith_error(a, "missing :");
	a->skip += !!which;
	no = arith_condition(a);
	a->skip -= !!which;
	return which ? yes : no;
}

/* name = value and name op= value, which group to the right. */
static long
arith_assign(struct arith *a)
{
	size_t n = name_length(a);
	const char *start = a->s;
	const struct binary *b;
	char *name;
	long value;

	if (too_deep())
		return arith_error(a, TOO_DEEP);
	a->s += n;
	b = n > 0 ? binary_find(a) : NULL;
	if (b && b->op != OP_EQ)
		a->s += strlen(b->text);
	if (n == 0 || *a->s != '=' || a->s[1] == '=' ||
	    (b && b->op < OP_BITOR) ||
	    (b && b->op >= OP_EQ && b->op <= OP_GT)) {
		a->s = start;
		return arith_condition(a);
	}
	a->s++;
	value = arith_assign(a);
	name = arena_strndup(scratch, start, n);
	if (b)
		value = apply(a, b->op, variable(a, name), value);
	if (!a->failed && !a->skip && !var_set_number(name, value))
		a->failed = true;
	return value;
}

bool
arith_eval(const char *text, long *value)
{
	struct arith a = {.s = text};

	blanks(&a);
	*value = *a.s ? arith_assign(&a) : 0;
	while (accept(&a, ','))
		*value = arith_assign(&a);
	blanks(&a);
	if (*a.s)
		arith_error(&a, "unexpected text after the expression");
	if (a.failed)
		sh.flow = FLOW_ABORT;
	return !a.failed;
}
