/*
 * For sched.c and fp.c: switching threads, FP registers, the idle loop's sleep.
 */
#include "offsets.h"
#include "base/riscv.h"

	.text
/*
 * void context_switch(struct thread *prev, struct thread *next)
 *
 * Leave prev for next. The caller, sched, holds sched_lock. This returns on
 * next's stack, to where next called it when it left its hart; a new thread
 * goes to thread_first. Only the registers are kept that a C function must
 * preserve, and gp. The kernel doesn't use gp, but it may be the program's
 * still: a tick may lead here before the entry (trap.S) has saved it.
 *
 * Two rules about T_HART, the hart that next runs on:
 *
 * - It is stored before tp points at next. The sampler may interrupt any of
 *   these instructions, and finds its hart by way of tp.
 * - The fence keeps that store before all that next loads later. Whoever gives
 *   next work sets next's bits and then loads its hart (thread_notify). So
 *   either that is this hart, which is then interrupted, or next finds the bits
 *   when it goes to user mode.
 */
FUNCTION context_switch
	sd	ra, T_CTX+CTX_RA(a0)
	sd	sp, T_CTX+CTX_SP(a0)
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11
	sd	s\n, T_CTX+CTX_S(\n)(a0)
	.endr
	sd	gp, T_CTX+CTX_GP(a0)
	ld	t0, T_HART(a0)
	sd	t0, T_HART(a1)
	fence	w, r
	mv	tp, a1
	.globl	switch_loads
switch_loads:
	ld	ra, T_CTX+CTX_RA(a1)
	ld	sp, T_CTX+CTX_SP(a1)
	ld	gp, T_CTX+CTX_GP(a1)
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11
	ld	s\n, T_CTX+CTX_S(\n)(a1)
	.endr
	ret

	.globl	switch_end
switch_end:

/*
 * The first code of a new thread: thread_create has made a context that returns
 * here, with the thread's start in s1. Nobody has called that, so ra is 0, as
 * is s0: a backtrace ends there.
 */
FUNCTION thread_first
	call	sched_first
	li	ra, 0
	jr	s1

/*
 * void fp_load(const struct fpstate *), void fp_store(struct fpstate *): load
 * or store all floating-point registers and fcsr. sstatus.FS must not be off.
 */
	.option	push
	.option	arch, +f, +d
FUNCTION fp_load
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	fld	f\n, 8*\n(a0)
	.endr
	lw	t0, 8*32(a0)
	fscsr	t0
	ret
FUNCTION fp_store
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	fsd	f\n, 8*\n(a0)
	.endr
	frcsr	t0
	sw	t0, 8*32(a0)
	ret
	.option	pop

/*
 * void idle_wait(volatile unsigned int *idling, unsigned long sip): sleep until
 * *idling is 0. If sip is SIE_SOFT, this hart interrupts itself here first.
 *
 * Interrupts are enabled, so the one that tells of *idling being 0 may come
 * between the test and the wfi. If it returned to the wfi the hart would sleep
 * all the same. So this sequence is restartable: an interrupt in it returns to
 * idle_look, and the test is made again (trap_interrupt).
 */
FUNCTION idle_wait
	csrs	sip, a1
	.globl	idle_look
idle_look:
	lw	t0, 0(a0)
	beqz	t0, 1f
	wfi
	j	idle_look
	.globl	idle_wait_end
idle_wait_end:
1:	ret
