/*
 * The only code that touches a user's memory, and the only code with
 * sstatus.SUM set, which allows it.
 *
 * A range is checked to lie below USER_TOP. A page fault inside one of the
 * ranges named by ACCESS_END is first taken for what it usually is, a page to
 * be filled in or copied; if that fails, the trap goes on at `fault`.
 */
#include "../bulk.h"
#include "../layout.h"
#include "../riscv.h"

#define EFAULT       14 /* as errno.h has them; that is no file for assembly */
#define ENAMETOOLONG 91

/* Between these two, user memory is touched. */
.macro ACCESS_BEGIN
	li	t0, SSTATUS_SUM
	csrs	sstatus, t0
8:
.endm
.macro ACCESS_END on_fault=fault
7:
	.pushsection __fault_table, "a"
	.quad	8b, 7b, \on_fault
	.popsection
	li	t0, SSTATUS_SUM
	csrc	sstatus, t0
.endm

/* Go to bad unless the n bytes at addr are the user's. Uses t0. */
.macro CHECK_RANGE addr, n
	li	t0, USER_TOP
	bgtu	\n, t0, bad
	sub	t0, t0, \n
	bgtu	\addr, t0, bad
.endm

	.text

/* int copy_in(void *dst, uintptr_t user_src, size_t n) */
FUNCTION copy_in
	CHECK_RANGE a1, a2
	j	copy

/* int copy_out(uintptr_t user_dst, const void *src, size_t n) */
FUNCTION copy_out
	CHECK_RANGE a0, a2
copy:
	mv	a3, a0
	ACCESS_BEGIN
	BULK_COPY
	ACCESS_END
	li	a0, 0
	ret

/* int zero_out(uintptr_t user_dst, size_t n) */
FUNCTION zero_out
	CHECK_RANGE a0, a1
	mv	a3, a0
	mv	a2, a1
	li	a1, 0
	ACCESS_BEGIN
	BULK_FILL
	ACCESS_END
	li	a0, 0
	ret

/*
 * ssize_t copy_in_str(char *dst, uintptr_t user_src, size_t size)
 *
 * First the string's length is found, a word at a time: no page is read that
 * doesn't hold a byte of it. Then it is copied, and ended by a NUL of our own,
 * because another thread may be writing there.
 *
 * 1: The search ends at a2: size bytes on, but not past USER_TOP.
 * 2: A zero byte in a word x is found by (x - a5) & ~x & a6: if that isn't
 *    zero, its lowest bit belongs to the first one.
 * 3: The first word may hold bytes before the string, which don't count.
 * 4: Word by word, until there is a zero byte or the end has been passed.
 * 5: Which byte is it? If it lies behind the end, there was none.
 * 6: Copy; the length is how far the copy has come.
 * 7: No NUL: has the search reached the end of dst, or that of user memory?
 */
FUNCTION copy_in_str
	/* 1 */
	CHECK_RANGE a1, zero
	sub	t0, t0, a1
	mv	t4, a2
	bleu	a2, t0, 1f
	mv	a2, t0
1:	add	a2, a1, a2
	beq	a1, a2, no_nul
	/* 2 */
	ld	a5, ones
	slli	a6, a5, 7
	/* 3 */
	andi	a4, a1, -8
	andi	t1, a1, 7
	slli	t1, t1, 3
	li	t2, -1
	sll	t2, t2, t1
	not	t2, t2
	ACCESS_BEGIN
	ld	t1, 0(a4)
	or	t1, t1, t2
	/* 4 */
1:	sub	t2, t1, a5
	not	t3, t1
	and	t2, t2, t3
	and	t2, t2, a6
	bnez	t2, 2f
	addi	a4, a4, 8
	bgeu	a4, a2, 2f
	ld	t1, 0(a4)
	j	1b
2:	ACCESS_END
	beqz	t2, no_nul
	/* 5 */
1:	andi	t3, t2, 0xff
	bnez	t3, 2f
	srli	t2, t2, 8
	addi	a4, a4, 1
	j	1b
2:	bgeu	a4, a2, no_nul
	/* 6 */
	sub	a2, a4, a1
	mv	a3, a0
	add	t0, a0, a2
	sb	zero, 0(t0)
	ACCESS_BEGIN
	BULK_COPY
	ACCESS_END
	sub	a0, a3, a0
	ret
	/* 7 */
no_nul:
	sub	a2, a2, a1
	bne	a2, t4, bad
	li	a0, -ENAMETOOLONG
	ret

/*
 * int peek(unsigned long dst[2], uintptr_t user_src), for the sampler: two
 * words that are present, or -EFAULT. No fault is served, nothing is waited
 * for.
 */
FUNCTION peek
	li	a2, 16
	CHECK_RANGE a1, a2
	ACCESS_BEGIN
	ld	a2, 0(a1)
	ld	a3, 8(a1)
	ACCESS_END peek_fault
	sd	a2, 0(a0)
	sd	a3, 8(a0)
	li	a0, 0
	ret
	.globl	peek_fault
peek_fault:
	j	fault

/* What an access that can't be made comes to. */
fault:
	li	t0, SSTATUS_SUM
	csrc	sstatus, t0
bad:
	li	a0, -EFAULT
	ret

	.section .rodata
	.balign	8
ones:
	.quad	0x0101010101010101
