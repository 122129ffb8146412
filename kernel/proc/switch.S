/*
 * void context_switch(struct thread *prev, struct thread *next)
 *
 * Leave prev for next, with sched_lock held. Returns in next's life, when prev's
 * stack has been left. gp isn't the kernel's, but the program's of a thread
 * whose entry (trap.S) hasn't saved it yet.
 *
 * The sampler may interrupt any of these instructions; it finds the hart by
 * way of tp, so next must know its hart before tp points at it. And who gives
 * next work looks then where to send the interrupt: either it finds this hart,
 * or next finds the work when it goes to user mode (thread_notify).
 */
#include "offsets.h"
#include "riscv.h"

	.text
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

/* A new thread's first steps: thread_create left its start in s1, and in s0 a 0.
 * No one has called it: a backtrace ends at the address 0. */
FUNCTION thread_first
	call	sched_first
	li	ra, 0
	jr	s1

/* void fp_load(const struct fpstate *), fp_store(struct fpstate *):
 * the floating-point registers; sstatus.FS must not be off. */
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
