/*
 * Atomic operations on one and two bytes. RISC-V has instructions for four and
 * eight only. GCC 13 makes a loop of these for the smaller ones. GCC 12 calls
 * functions of a library that bare-metal toolchains don't have. Its own libgcc
 * has most of what is needed, under the names from before C11; these are
 * sequentially consistent, so they do for any order.
 */
#include <stdbool.h>

#define FETCH(op, type, bytes)                                            \
	type __atomic_fetch_##op##_##bytes(volatile void *p, type v, int) \
	{                                                                 \
		return __sync_fetch_and_##op((volatile type *)p, v);      \
	}

#define OPERATIONS(type, bytes)                                            \
	FETCH(add, type, bytes)                                            \
	FETCH(sub, type, bytes)                                            \
	FETCH(and, type, bytes)                                            \
	FETCH(or, type, bytes)                                             \
	FETCH(xor, type, bytes)                                            \
                                                                           \
	bool __atomic_compare_exchange_##bytes(                            \
	    volatile void *p, void *expected, type new, bool, int, int)    \
	{                                                                  \
		type want = *(type *)expected;                             \
		type old = __sync_val_compare_and_swap((volatile type *)p, \
						       want, new);         \
                                                                           \
		*(type *)expected = old;                                   \
		return old == want;                                        \
	}                                                                  \
                                                                           \
	type __atomic_exchange_##bytes(volatile void *p, type new, int)    \
	{                                                                  \
		volatile type *at = p;                                     \
		type old;                                                  \
                                                                           \
		do                                                         \
			old = *at;                                         \
		while (!__sync_bool_compare_and_swap(at, old, new));       \
		return old;                                                \
	}

OPERATIONS(unsigned char, 1)
OPERATIONS(unsigned short, 2)
