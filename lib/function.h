/* How a function in assembly begins. */
#ifndef LIB_FUNCTION_H
#define LIB_FUNCTION_H

/*
 * Functions are aligned to 8 bytes, as the compiler is told to do with its own.
 * The profiler kprof counts samples in buckets of 8 bytes of text. So no two
 * functions share a bucket, and a sample is never charged to a neighbour.
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
