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

/* void *memmove(void *dst, const void *src, size_t n): unless dst starts
 * inside src, memcpy, which follows, will do. */
FUNCTION memmove
	sub	t0, a0, a1
	bltu	t0, a2, move_down

/* void *memcpy(void *dst, const void *src, size_t n) */
FUNCTION memcpy
	mv	a3, a0
	BULK_COPY
	ret

/*
 * memmove, from the end downwards. Like BULK_COPY, but what can't be aligned
 * together goes by bytes.
 */
FUNCTION move_down
	add	a1, a1, a2
	add	a3, a0, a2
	xor	t0, a1, a3
	andi	t0, t0, 7
	bnez	t0, 5f
	/* Bytes, until both are aligned. */
2:	andi	t0, a3, 7
	beqz	t0, 3f
	beqz	a2, 9f
	addi	a1, a1, -1
	addi	a3, a3, -1
	lbu	t1, 0(a1)
	sb	t1, 0(a3)
	addi	a2, a2, -1
	j	2b
	/* Whole rounds. */
3:	andi	t0, a2, -ROUND
	beqz	t0, 4f
	sub	t0, a1, t0
1:	addi	a1, a1, -ROUND
	addi	a3, a3, -ROUND
	LOAD_ROUND a1
	STORE_ROUND a3
	bne	a1, t0, 1b
	andi	a2, a2, ROUND-1
	/* Whole words. */
4:	andi	t0, a2, -8
	beqz	t0, 5f
	sub	t0, a1, t0
1:	addi	a1, a1, -8
	addi	a3, a3, -8
	ld	t1, 0(a1)
	sd	t1, 0(a3)
	bne	a1, t0, 1b
	andi	a2, a2, 7
	/* The rest: down to dst. */
5:	beq	a3, a0, 9f
	addi	a1, a1, -1
	addi	a3, a3, -1
	lbu	t1, 0(a1)
	sb	t1, 0(a3)
	j	5b
9:	ret
