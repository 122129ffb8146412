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
#include "level.h"
#include "offsets.h"
#include "riscv.h"

/* The user's registers to the trap frame: all but sp, tp and t0. */
.macro SAVE_USER
	.irp	n, 1,3,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	sd	x\n, T_REG(\n)(tp)
	.endr
.endm

/*
 * Let the sampler in again, at level 5, after an interrupt that isn't the
 * timer's; if that is due as well, it goes first, with SIE=0, and the sample
 * is one of what was interrupted. t0 is lost.
 */
.macro UNMASK_TIMER
	csrr	t0, sip
	andi	t0, t0, SIE_TIMER
	bnez	t0, 1f
	li	t0, LEVEL5_MASK
	csrc	sie, t0
	csrsi	sstatus, SSTATUS_SIE
1:
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
	sd	t0, T_REG(5)(tp)
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
 * SPP tells apart. As with an exception: what a nested trap would destroy is
 * saved, and the sampler let in before the rest.
 */
FUNCTION user_interrupt
	csrr	sp, sstatus
	andi	sp, sp, SSTATUS_SPP
	bnez	sp, exit_interrupted
	sd	t0, T_REG(5)(tp)
	csrr	t0, sstatus
	sd	t0, T_SSTATUS(tp)
	csrr	t0, sepc
	sd	t0, T_SEPC(tp)
	csrr	t0, scause
	sd	t0, T_SCAUSE(tp)
	csrrw	t0, sscratch, zero
	sd	t0, T_TP(tp)
	ld	sp, T_KSTACK_TOP(tp)
	UNMASK_TIMER
	SAVE_USER
	ld	t0, T_SCRATCH(tp)
	sd	t0, T_SP(tp)
	ld	a0, T_SCAUSE(tp)
	li	a1, 1
	ld	a2, T_SEPC(tp)
	j	2f
FUNCTION exit_interrupted
	csrw	sscratch, zero
	ld	sp, T_KSTACK_TOP(tp)
	csrr	a0, scause
	li	a1, 0
	csrr	a2, sepc
	UNMASK_TIMER
2:	li	a3, 0
	call	trap_interrupt
	beqz	a0, exit_level0
	li	a1, 1 /* another one; the exit stub is as good as user mode */
	ld	a2, T_SEPC(tp)
	j	2b

/*
 * Down to level 0 as a part of the exit: an interrupt that comes now starts
 * it again and takes no room on the stack, however often that happens.
 */
FUNCTION exit_level0
	csrw	sscratch, tp
	li	t0, LEVEL_ALL
	csrw	sie, t0
	ld	t0, T_HART(tp)
	ld	t0, HART_OWED(t0)
	beqz	t0, exit_user
	csrw	sscratch, zero
	call	level_pending
	j	exit_level0

/*
 * A trap of the kernel itself, on whatever stack it was using.
 * Step 1: is there room? tp, 0 here, serves to test the stack pointer.
 * Step 2: save what a nested trap would destroy, let the sampler in again.
 * Step 3: save what C may destroy. s0 and sepc lie as a function's frame does,
 *         so a backtrace finds its way.
 * Step 4: user memory is out of bounds again, whatever was interrupted.
 */
.macro SAVE_KERNEL
	/* Step 3 */
	sd	ra, KF_RA(sp)
	sd	t1, KF_T(1)(sp)
	sd	t2, KF_T(2)(sp)
	.irp	n, 0,1,2,3,4,5,6,7
	sd	a\n, KF_A(\n)(sp)
	.endr
	.irp	n, 3,4,5,6
	sd	t\n, KF_T3(\n)(sp)
	.endr
	sd	s0, KF_S0(sp)
	addi	s0, sp, KF_SIZE
	/* Step 4 */
	li	t0, SSTATUS_SUM
	csrc	sstatus, t0
.endm

FUNCTION from_kernel
	/* Step 1 */
	addi	sp, sp, -KF_SIZE
	slli	tp, sp, 63 - KSTACK_SHIFT
	bgez	tp, stack_overflow
	csrrw	tp, sscratch, zero
	/* Step 2 */
	sd	t0, KF_T(0)(sp)
	csrr	t0, sstatus
	sd	t0, KF_SSTATUS(sp)
	csrr	t0, sepc
	sd	t0, KF_SEPC(sp)
	csrr	t0, scause
	sd	t0, KF_SCAUSE(sp)
	bgez	t0, kernel_exception
	csrr	t0, sie
	sd	t0, KF_SIE(sp)
	UNMASK_TIMER
	SAVE_KERNEL
	FRAME_FOR_GDB
	ld	a0, KF_SCAUSE(sp)
3:	li	a1, 0
	ld	a2, KF_SEPC(sp)
	mv	a3, sp
	call	trap_interrupt
	bnez	a0, 3b /* another one came while this one waited */

/*
 * Back into the kernel, from level 5. Restartable up to the csrci: an interrupt
 * after the check may leave work for level 0, and so comes back to it.
 * Registers first, so that little is left to do with SIE=0.
 */
FUNCTION kernel_return
	mv	a0, sp
	call	trap_finish
FUNCTION kernel_return_checked
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
	.globl	kernel_return_end
kernel_return_end:
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

/* SIE stays 0 where it was: in the sampler, which looks at user memory. */
FUNCTION kernel_exception
	csrr	t0, stval
	sd	t0, KF_STVAL(sp)
	ld	t0, KF_SSTATUS(sp)
	andi	t0, t0, SSTATUS_SPIE
	beqz	t0, 1f
	csrsi	sstatus, SSTATUS_SIE
1:	csrr	t0, sie
	sd	t0, KF_SIE(sp)
	SAVE_KERNEL
	mv	a0, sp
	call	trap_kernel
	j	kernel_return_checked

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
