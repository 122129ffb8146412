/* How a function in assembly begins. */
#ifndef LIB_FUNCTION_H
#define LIB_FUNCTION_H

/*
 * Like the compiler's, it is aligned to 8 bytes, as much as a bucket of kprof
 * covers: so no two functions share a bucket.
 */
/* clang-format off */
.macro FUNCTION name
	.balign	8
	.globl	\name
	.type	\name, @function
\name:
.endm
/* clang-format on */

#endif
