/*
 * memset, memcpy and memmove: the string functions that move bulk data, for the
 * kernel and for programs. The C library's own go byte by byte. All three
 * return dst, which stays in a0.
 */
#include "bulk.h"
#include "function.h"

	.text

/*
 * void *memset(void *dst, int c, size_t n)
 *
 * 1: Fewer than 8 are stored as bytes. Otherwise repeat the byte in all eight
 *    places of a1. (0, the usual one, is there already.)
 * 2: Bytes, until aligned.
 * 3: Whole rounds.
 * 4: Whole words.
 * 5: The last bytes.
 */
FUNCTION memset
	mv	a3, a0
	/* 1 */
	li	t0, 8
	bltu	a2, t0, 5f
	beqz	a1, 2f
	andi	a1, a1, 0xff
	slli	t0, a1, 8
	or	a1, a1, t0
	slli	t0, a1, 16
	or	a1, a1, t0
	slli	t0, a1, 32
	or	a1, a1, t0
	/* 2 */
2:	andi	t0, a3, 7
	beqz	t0, 3f
	sb	a1, 0(a3)
	addi	a3, a3, 1
	addi	a2, a2, -1
	j	2b
	/* 3 */
3:	andi	t0, a2, -ROUND
	beqz	t0, 4f
	add	t0, t0, a3
1:	.irp	at, 0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120
	sd	a1, \at(a3)
	.endr
	addi	a3, a3, ROUND
	bne	a3, t0, 1b
	andi	a2, a2, ROUND-1
	/* 4 */
4:	andi	t0, a2, -8
	beqz	t0, 5f
	add	t0, t0, a3
1:	sd	a1, 0(a3)
	addi	a3, a3, 8
	bne	a3, t0, 1b
	andi	a2, a2, 7
	/* 5 */
5:	beqz	a2, 9f
	add	t0, a3, a2
1:	sb	a1, 0(a3)
	addi	a3, a3, 1
	bne	a3, t0, 1b
9:	ret

/* void *memcpy(void *dst, const void *src, size_t n) */
FUNCTION memcpy
	mv	a3, a0
	BULK_COPY
	ret

/*
 * void *memmove(void *dst, const void *src, size_t n)
 *
 * If dst begins inside of src, an ascending copy would overwrite bytes that it
 * still has to read. So bytes are copied from the end down. In this case only,
 * dst - src as an unsigned number is less than n.
 */
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
