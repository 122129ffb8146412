/* memcpy, memmove, memset: the string functions that move bulk data. */
#include "bulk.h"
#include "riscv.h"

	.text

/* void *memset(void *dst, int c, size_t n) */
FUNCTION memset
	mv	a3, a0
	beqz	a1, 1f
	andi	a1, a1, 0xff
	slli	t0, a1, 8
	or	a1, a1, t0
	slli	t0, a1, 16
	or	a1, a1, t0
	slli	t0, a1, 32
	or	a1, a1, t0
1:	BULK_FILL
	ret

/* void *memcpy(void *dst, const void *src, size_t n) */
FUNCTION memcpy
	mv	a3, a0
	BULK_COPY
	ret

/* void *memmove(void *dst, const void *src, size_t n): if dst starts inside
 * src, byte by byte from the end down; else memcpy will do. */
FUNCTION memmove
	sub	t0, a0, a1
	bgeu	t0, a2, memcpy
	add	a1, a1, a2
	add	a3, a0, a2
1:	addi	a1, a1, -1
	addi	a3, a3, -1
	lbu	t1, 0(a1)
	sb	t1, 0(a3)
	bne	a3, a0, 1b
	ret
