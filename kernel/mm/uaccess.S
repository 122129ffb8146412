/*
 * The only code that touches a user's memory, and the only code with
 * sstatus.SUM set, which allows it.
 *
 * A range is checked to lie below USER_TOP. A page fault inside one of the
 * ranges named by ACCESS_END is first taken for what it usually is, a page to
 * be filled in or copied; if that fails, the trap goes on at `fault`.
 */
#include "../../lib/bulk.h"
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

/*
 * ssize_t copy_in_str(char *dst, uintptr_t user_src, size_t size)
 *
 * The string goes byte by byte, so no page is read that doesn't hold some of
 * it. t2 has the last of them: unless it is the NUL, dst was too small.
 */
FUNCTION copy_in_str
	li	t1, USER_TOP
	mv	a3, a0
	add	a2, a0, a2
	li	t2, -1
	ACCESS_BEGIN
1:	beq	a3, a2, 2f
	bgeu	a1, t1, fault
	lbu	t2, 0(a1)
	sb	t2, 0(a3)
	addi	a1, a1, 1
	addi	a3, a3, 1
	bnez	t2, 1b
2:	ACCESS_END
	bnez	t2, 3f
	addi	a3, a3, -1
	sub	a0, a3, a0
	ret
3:	li	a0, -ENAMETOOLONG
	ret

/*
 * int count_user(uintptr_t counter, unsigned int n, unsigned int limit)
 *
 * A counter that is at limit already isn't touched.
 */
FUNCTION count_user
	andi	t0, a0, 1
	bnez	t0, bad
	li	t0, USER_TOP - 2
	bgtu	a0, t0, bad
	ACCESS_BEGIN
	lhu	t1, 0(a0)
	bgeu	t1, a2, 2f
	sub	a2, a2, t1
	bleu	a1, a2, 1f
	mv	a1, a2
1:	add	t1, t1, a1
	sh	t1, 0(a0)
2:	ACCESS_END
	mv	a0, t1
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
