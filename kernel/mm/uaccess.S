/*
 * The only code that touches a user's memory, and the only code with
 * sstatus.SUM set: without it the hardware refuses S-mode access to user pages,
 * so a stray pointer elsewhere in the kernel can't reach them.
 *
 * Each function first checks that the range lies below USER_TOP. It need not be
 * mapped: each ACCESS_END puts the range of instructions since ACCESS_BEGIN in
 * a table, and a page fault at one of these is handled by trap_kernel as one of
 * user mode is: the page is filled in or copied, and the instruction executed
 * again. If that fails, the trap returns to `fault`, and the function returns
 * -EFAULT.
 */
#include <sys/errno.h>

#include "lib/bulk.h"
#include "base/layout.h"
#include "base/riscv.h"

/* Only between these two user memory is touched. Both use t0. */
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

/* Go to bad unless the n bytes at addr lie below USER_TOP. Uses t0. */
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
 * The string is copied byte by byte, so no page is read that has no byte of
 * it: the page behind the NUL may be missing. Nor can it go on past USER_TOP:
 * what follows is no address of Sv39's, and faults. t2 has the byte copied last:
 * unless it is the NUL, dst was too small.
 */
FUNCTION copy_in_str
	CHECK_RANGE a1, zero
	mv	a3, a0
	add	a2, a0, a2
	li	t2, -1
	ACCESS_BEGIN
1:	beq	a3, a2, 2f
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
 * For profil: the counter has 16 bits, and is stored to by nobody else in the
 * kernel meanwhile, as the caller holds profil_lock. One that is at limit
 * already isn't written, and the sum never exceeds limit.
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
 * int exchange_user(uintptr_t word, uint32_t *value, uint32_t new)
 *
 * lr and sc may each fault; an sc that is executed again then fails, and both
 * are repeated.
 */
FUNCTION exchange_user
	andi	t0, a0, 3
	bnez	t0, bad
	li	t0, USER_TOP - 4
	bgtu	a0, t0, bad
	lw	t1, 0(a1)
	ACCESS_BEGIN
1:	lr.w.aqrl t2, (a0)
	bne	t2, t1, 2f
	sc.w.rl	t3, a2, (a0)
	bnez	t3, 1b
2:	ACCESS_END
	sw	t2, 0(a1)
	li	a0, 0
	ret

/*
 * int peek(unsigned long dst[2], uintptr_t user_src)
 *
 * The sampler, at level 7, can't wait for a page, so trap_kernel must not serve
 * a fault here. It knows it by the address peek_fault in the table. The words
 * are stored to dst only after both have been read.
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

/* A failed access ends at fault, with SUM set; a refused range at bad. */
fault:
	li	t0, SSTATUS_SUM
	csrc	sstatus, t0
bad:
	li	a0, -EFAULT
	ret
