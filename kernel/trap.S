/*
 * The one way into the kernel, and the ways back. docs/trap.md explains it
 * at length, with a gdb session to follow.
 *
 * stvec never changes. sscratch is 0 while the hart runs the kernel, and the
 * current thread while it runs user mode, or is on the last steps there (the
 * exit stub). So the first two instructions tell the cases apart. tp is the
 * current thread in the kernel, the user's own register outside.
 *
 * The timer is never masked, and SIE=0 hides code from the sampler: here are
 * nearly all of the instructions that run so. They are few, and what falls
 * due in them is charged to the first instruction after.
 */
#include "layout.h"
#include "offsets.h"
#include "riscv.h"

/* The user's registers to the trap frame: all but sp and tp. */
.macro SAVE_USER
	.irp	n, 1,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	sd	x\n, T_REG(\n)(tp)
	.endr
.endm

/* How gdb finds from s0 what was interrupted, at sepc (64: no register). */
.macro FRAME_FOR_GDB
	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column 64
	.cfi_def_cfa s0, 0
	.cfi_offset 64, KF_SEPC - KF_SIZE
	.cfi_offset ra, KF_RA - KF_SIZE
	.cfi_offset s0, KF_S0 - KF_SIZE
.endm

	.cfi_sections .debug_frame
	.text
FUNCTION trap_vector
	csrrw	tp, sscratch, tp
	beqz	tp, from_kernel
	sd	sp, T_SCRATCH(tp)
	csrr	sp, scause
	bltz	sp, user_interrupt

/*
 * A system call or another exception in user mode.
 * Step 1: save what a nested trap would destroy.
 * Step 2: on the kernel's stack, let the sampler in again.
 * Step 3: save the rest, and leave the matter to C.
 */
	/* Step 1 */
	sd	sp, T_SCAUSE(tp)
	csrr	sp, stval
	sd	sp, T_STVAL(tp)
	csrr	sp, sstatus
	sd	sp, T_SSTATUS(tp)
	csrr	sp, sepc
	sd	sp, T_SEPC(tp)
	csrrw	sp, sscratch, zero
	sd	sp, T_TP(tp)
	/* Step 2 */
	ld	sp, T_KSTACK_TOP(tp)
	csrsi	sstatus, SSTATUS_SIE
	/* Step 3 */
	SAVE_USER
	ld	t0, T_SCRATCH(tp)
	sd	t0, T_SP(tp)
	call	trap_user

/*
 * The exit to user mode, restartable: SIE=1 throughout, for the user's
 * registers stay in the trap frame until sret. An interrupt in here finds
 * sscratch set though it comes from S-mode; it needs to save nothing, and
 * goes back to exit_user, the start.
 * Step 1: from here on a trap knows this for the exit.
 * Step 2: work that came up meanwhile goes first. Whoever gives this thread
 *         work later interrupts this hart, and so makes it look again.
 * Step 3: sstatus as it shall be in user mode, but SIE.
 * Step 4: the registers, tp last.
 */
FUNCTION exit_user
	/* Step 1 */
	csrw	sscratch, tp
	/* Step 2 */
	ld	t0, T_WORK(tp)
	bnez	t0, exit_work
	/* Step 3 */
	ld	t0, T_SSTATUS(tp)
	ld	t1, T_SEPC(tp)
	ori	t0, t0, SSTATUS_SIE
	csrw	sstatus, t0
	csrw	sepc, t1
	/* Step 4 */
	.irp	n, 1,2,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	ld	x\n, T_REG(\n)(tp)
	.endr
	ld	x4, T_REG(4)(tp)
	sret
	.globl	exit_user_end
exit_user_end:

FUNCTION exit_work
	csrw	sscratch, zero
	call	thread_work
	j	exit_user

/* The way out for a thread that never came in: a new one. */
FUNCTION trap_return_user
	ld	sp, T_KSTACK_TOP(tp)
	j	exit_user

/*
 * An interrupt with sscratch set: of user mode, or of the exit stub, which
 * SPP tells apart.
 */
FUNCTION user_interrupt
	csrr	sp, sstatus
	andi	sp, sp, SSTATUS_SPP
	bnez	sp, exit_interrupted
	csrr	sp, sstatus
	sd	sp, T_SSTATUS(tp)
	csrr	sp, sepc
	sd	sp, T_SEPC(tp)
	csrrw	sp, sscratch, zero
	sd	sp, T_TP(tp)
	ld	sp, T_SCRATCH(tp)
	sd	sp, T_SP(tp)
	SAVE_USER
	li	a1, 1
	j	1f
FUNCTION exit_interrupted
	csrw	sscratch, zero
	li	a1, 0
1:	ld	sp, T_KSTACK_TOP(tp)
	csrr	a0, scause
	csrr	a2, sepc
	li	a3, 0
	call	trap_interrupt
	csrsi	sstatus, SSTATUS_SIE
	j	exit_user

/*
 * A trap of the kernel itself, on whatever stack it was using.
 * Step 1: is there room? tp, 0 here, serves to test the stack pointer.
 * Step 2: save what C may destroy, and what a nested trap would. s0 and sepc
 *         lie as a function's frame does, so a backtrace finds its way.
 * Step 3: user memory is out of bounds again, whatever was interrupted.
 */
FUNCTION from_kernel
	/* Step 1 */
	addi	sp, sp, -KF_SIZE
	slli	tp, sp, 63 - KSTACK_SHIFT
	bgez	tp, stack_overflow
	csrrw	tp, sscratch, zero
	/* Step 2 */
	sd	ra, KF_RA(sp)
	sd	t0, KF_T(0)(sp)
	sd	t1, KF_T(1)(sp)
	sd	t2, KF_T(2)(sp)
	.irp	n, 0,1,2,3,4,5,6,7
	sd	a\n, KF_A(\n)(sp)
	.endr
	.irp	n, 3,4,5,6
	sd	t\n, KF_T3(\n)(sp)
	.endr
	csrr	t0, sie
	sd	t0, KF_SIE(sp)
	csrr	a2, sepc
	sd	a2, KF_SEPC(sp)
	sd	s0, KF_S0(sp)
	addi	s0, sp, KF_SIZE
	FRAME_FOR_GDB
	/* Step 3 */
	li	t0, SSTATUS_SUM
	csrrc	t0, sstatus, t0
	sd	t0, KF_SSTATUS(sp)
	csrr	a0, scause
	bgez	a0, kernel_exception
	li	a1, 0
	mv	a3, sp
	call	trap_interrupt

/* Registers first, so that little is left to do with SIE=0. */
FUNCTION kernel_return
	ld	ra, KF_RA(sp)
	ld	t1, KF_T(1)(sp)
	ld	t2, KF_T(2)(sp)
	.irp	n, 0,1,2,3,4,5,6,7
	ld	a\n, KF_A(\n)(sp)
	.endr
	.irp	n, 3,4,5,6
	ld	t\n, KF_T3(\n)(sp)
	.endr
	csrci	sstatus, SSTATUS_SIE
	ld	t0, KF_SIE(sp)
	csrw	sie, t0
	ld	t0, KF_SEPC(sp)
	csrw	sepc, t0
	ld	t0, KF_SSTATUS(sp)
	csrw	sstatus, t0
	.cfi_endproc
	ld	s0, KF_S0(sp)
	ld	t0, KF_T(0)(sp)
	addi	sp, sp, KF_SIZE
	sret

FUNCTION kernel_exception
	sd	a0, KF_SCAUSE(sp)
	csrr	a0, stval
	sd	a0, KF_STVAL(sp)
	mv	a0, sp
	call	trap_kernel
	j	kernel_return

/*
 * The stack pointer is no good: it ran onto a guard page, or never pointed
 * at a stack. Nothing of it is used again; the panic has a stack of its own.
 */
FUNCTION stack_overflow
	csrrw	tp, sscratch, zero
	addi	a0, sp, KF_SIZE
	ld	t0, T_HART(tp)
	lwu	t0, HART_ID(t0)
	addi	t0, t0, 1
	slli	t0, t0, PAGE_SHIFT
	la	sp, overflow_stacks
	add	sp, sp, t0
	call	trap_stack_overflow

/*
 * void idle_wait(volatile unsigned int *idling): sleep until *idling is 0.
 * Restartable, as interrupts are on between the test and the wfi: one that
 * interrupts this returns to the test, so no wake-up is slept through.
 */
FUNCTION idle_wait
	lw	t0, 0(a0)
	beqz	t0, 1f
	wfi
	j	idle_wait
	.globl	idle_wait_end
idle_wait_end:
1:	ret
