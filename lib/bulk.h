/*
 * Copying in bulk, as an assembly macro. string.S makes memcpy of it, and
 * kernel/mm/uaccess.S the same for user memory: there a page fault is expected,
 * and known by the address of the instruction. Words are copied where possible,
 * sixteen in each round of the loop, and bytes at both ends.
 */
#ifndef LIB_BULK_H
#define LIB_BULK_H

#define ROUND 128 /* bytes in sixteen words */

/*
 * Copy a2 bytes from a1 to a3, in ascending order: so a destination below the
 * source may overlap it. It reads no page that doesn't hold a byte asked for.
 * Keeps a0, leaves a3 at the end of the destination, and changes the other a
 * and t registers.
 *
 * 1: Can source and destination be aligned together? If not, rounds of bytes.
 * 2: Bytes, until both are aligned.
 * 3: Whole rounds.
 * 4: Whole words.
 * 5: The last bytes.
 */
.macro BULK_COPY
	/* 1 */
	xor	t0, a1, a3
	andi	t0, t0, 7
	beqz	t0, 2f
	andi	t0, a2, -16
	beqz	t0, 5f
	add	t0, t0, a1
1:	.irp	at, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	lbu	t1, \at(a1)
	sb	t1, \at(a3)
	.endr
	addi	a1, a1, 16
	addi	a3, a3, 16
	bne	a1, t0, 1b
	andi	a2, a2, 15
	j	5f
	/* 2 */
2:	andi	t0, a3, 7
	beqz	t0, 3f
	beqz	a2, 9f
	lbu	t1, 0(a1)
	sb	t1, 0(a3)
	addi	a1, a1, 1
	addi	a3, a3, 1
	addi	a2, a2, -1
	j	2b
	/* 3 */
3:	andi	t0, a2, -ROUND
	beqz	t0, 4f
	add	t0, t0, a1
1:	.irp	at, 0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120
	ld	t1, \at(a1)
	sd	t1, \at(a3)
	.endr
	addi	a1, a1, ROUND
	addi	a3, a3, ROUND
	bne	a1, t0, 1b
	andi	a2, a2, ROUND-1
	/* 4 */
4:	andi	t0, a2, -8
	beqz	t0, 5f
	add	t0, t0, a1
1:	ld	t1, 0(a1)
	sd	t1, 0(a3)
	addi	a1, a1, 8
	addi	a3, a3, 8
	bne	a1, t0, 1b
	andi	a2, a2, 7
	/* 5 */
5:	beqz	a2, 9f
	add	t0, a1, a2
1:	lbu	t1, 0(a1)
	sb	t1, 0(a3)
	addi	a1, a1, 1
	addi	a3, a3, 1
	bne	a1, t0, 1b
9:
.endm

#endif
