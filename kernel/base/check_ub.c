/*
 * With -fsanitize=undefined the compiler adds tests for undefined behaviour.
 * Where one fails the code calls a function of this file, which panics with the
 * place in the source. The compiler prescribes the functions' names and
 * arguments. The first argument points to a struct that begins with the place;
 * most functions need nothing else.
 */
#include <stdint.h>

#include "base/panic.h"

struct place {
	const char *file;
	uint32_t line, column;
};

/* The first argument of type_mismatch_v1. */
struct mismatch {
	struct place at;
	const void *type;
	unsigned char log_alignment;
	unsigned char access;
};

static void __attribute__((noreturn))
undefined(const struct place *at, const char *what)
{
	panic("undefined behaviour: %s at %s:%u", what, at->file, at->line);
}

#define HANDLER(name, what)                                 \
	void __ubsan_handle_##name(const struct place *at); \
	void __ubsan_handle_##name(const struct place *at)  \
	{                                                   \
		undefined(at, what);                        \
	}

HANDLER(add_overflow, "addition overflows")
HANDLER(sub_overflow, "subtraction overflows")
HANDLER(mul_overflow, "multiplication overflows")
HANDLER(negate_overflow, "negation overflows")
HANDLER(divrem_overflow, "division by zero, or quotient overflows")
HANDLER(shift_out_of_bounds, "shift out of range")
HANDLER(out_of_bounds, "index out of bounds")
HANDLER(vla_bound_not_positive, "array length isn't positive")
HANDLER(pointer_overflow, "pointer overflows")
HANDLER(load_invalid_value, "value outside its type's range")
HANDLER(builtin_unreachable, "unreachable code reached")
HANDLER(missing_return, "function returns without a value")
HANDLER(invalid_builtin, "zero passed to __builtin_clz or __builtin_ctz")
HANDLER(nonnull_arg, "null pointer passed as argument")

/* A pointer is null, misaligned, or points to an object that is too small. The
 * value of the pointer tells which. */
void __ubsan_handle_type_mismatch_v1(const struct mismatch *m, uintptr_t p);

void
__ubsan_handle_type_mismatch_v1(const struct mismatch *m, uintptr_t p)
{
	if (p == 0)
		undefined(&m->at, "null pointer used");
	if (p & ((1UL << m->log_alignment) - 1))
		undefined(&m->at, "misaligned pointer used");
	undefined(&m->at, "object too small for the access");
}

/* Here the place is the second argument. */
void __ubsan_handle_nonnull_return_v1(const void *what, const struct place *at);

void
__ubsan_handle_nonnull_return_v1(const void *, const struct place *at)
{
	undefined(at, "null pointer returned");
}
