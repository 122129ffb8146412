/*
 * The one way into the kernel, and the ways back. docs/trap.md explains it
 * at length, with a gdb session to follow.
 *
 * stvec never changes. In the kernel tp is the current thread, and sscratch is
 * 0. In user mode tp is the program's, and sscratch is the current thread; so
 * it is in the exit stub, the last instructions before user mode. So the first
 * two instructions tell if the trap came from the kernel.
 *
 * The timer is never masked, but with SIE=0 its interrupt waits, so code that
 * runs so is hidden from the sampler. Nearly all such instructions of the
 * kernel are here. They are few, and a sample that falls due in them is charged
 * to the first instruction after.
 *
 * So an interrupt may come almost anywhere, also between two instructions that
 * belong together. Where that matters the sequence is restartable: whatever it
 * has done so far can be thrown away, and the interrupt returns to its start.
 * The three of them are the exit to user mode (exit_user and exit_level0), the
 * return from an interrupt of the kernel (kernel_return), and idle_wait in
 * switch.S.
 */
#include "base/layout.h"
#include "sched/level.h"
#include "sched/offsets.h"
#include "base/riscv.h"

/* Store the user's registers in the trap frame: all but sp, tp and t0. */
.macro SAVE_USER
	.irp	n, 1,3,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	sd	x\n, T_REG(\n)(tp)
	.endr
.endm

/*
 * After an interrupt: raise the level to 5 and set SIE, so that the sampler can
 * interrupt the handler. But if the timer is due, leave SIE 0: trap_interrupt
 * then takes the sample first, as one of what was interrupted. Overwrites t0.
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

/*
 * Tells gdb how to find what was interrupted: the registers in the frame below
 * s0, and the pc in sepc's place (64 is the number of no register).
 */
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
 * A system call or another exception in user mode. sp has been saved already,
 * to have one register to work with.
 * Step 1: Save what a nested trap would overwrite: four CSRs, and tp. From the
 *         write to sscratch on, a trap is one of the kernel.
 * Step 2: Take the kernel stack. Now the sampler can interrupt.
 * Step 3: Save the other registers. A nested trap restores those that it uses.
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
 * The exit to user mode. It is restartable, and SIE is 1 throughout: the user's
 * registers stay valid in the trap frame until sret, whatever is loaded here.
 * An interrupt in here finds sscratch set although it comes from S-mode. Its
 * handler saves nothing, and goes back to exit_user (exit_interrupted).
 * Step 1: Mark this as the exit, for the traps that come from now on.
 * Step 2: Work that has come up goes first. If it comes up later, then in an
 *         interrupt of this hart, or another hart sends it one (thread_notify).
 *         Either starts the exit again, and so the work is found.
 * Step 3: User-mode sstatus, with SIE still set. In the frame SPP is 0, so that
 *         sret goes to user mode, and SPIE is 1, so that it leaves SIE set.
 * Step 4: Load the registers, tp last, as the others are found by it.
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

/* There is work: this is no longer the exit, so sscratch becomes 0 again. */
FUNCTION exit_work
	csrw	sscratch, zero
	call	thread_work
	j	exit_user

/* The way out for a new thread, which never came in, and for sigreturn, which
 * doesn't return. What is on the stack is given up. */
FUNCTION trap_return_user
	ld	sp, T_KSTACK_TOP(tp)
	j	exit_user

/*
 * An interrupt with sscratch set: of user mode if SPP is 0, else of the exit
 * stub. The steps are those of an exception. stval isn't saved, as interrupts
 * don't use it.
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
2:	li	a1, 1
	ld	a2, T_SEPC(tp)
	li	a3, 0
	call	trap_interrupt
	bnez	a0, 2b /* another one */
	j	exit_level0
/*
 * An interrupt of the exit stub. Nothing is saved: the user's registers are all
 * in the trap frame, and what the stub has loaded is loaded again. So the
 * handler starts at the top of the stack, and s1 is free.
 */
FUNCTION exit_interrupted
	csrw	sscratch, zero
	ld	sp, T_KSTACK_TOP(tp)
	csrr	a0, scause
	csrr	s1, sepc
	UNMASK_TIMER
3:	li	a1, 0
	mv	a2, s1
	li	a3, 0
	call	trap_interrupt
	bnez	a0, 3b

/*
 * Lower the level to 0 as a part of the exit. Interrupts that have been waiting
 * come at the write to sie. As sscratch is set by then, each of them starts
 * with an empty stack and restarts the exit: so they take no more room, however
 * many there are. Then see if a tick is owed, and do its work first.
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
 * A trap of the kernel itself. Its frame goes on the stack in use.
 * Step 1: Is there room? tp, which is 0 here, is the register to test sp with:
 *         bit KSTACK_SHIFT of a good sp is 1 (base/layout.h), and the shift
 *         makes it the sign. Then tp and sscratch are exchanged back.
 * Step 2: Save what a nested trap would overwrite, and let the sampler in.
 * Step 3: Save what a C function may overwrite, and s0. s0 and sepc lie as in a
 *         function's frame, so that a backtrace finds its way through the trap.
 * Step 4: Clear SUM, as copying of user memory may have been interrupted, and
 *         the handler must not touch that.
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
 * Return from an interrupt of the kernel, from level 5 to that of the frame.
 *
 * trap_finish does what is owed, if that level is 0. Another tick may come
 * after its check and leave work. So there is another check here, and from it
 * on, up to the csrci that clears SIE, this sequence is restartable: an
 * interrupt in it returns to kernel_return. The frame is unchanged until then.
 *
 * Most registers are loaded first, so that few instructions run with SIE=0.
 */
FUNCTION kernel_return
	mv	a0, sp
	call	trap_finish
	beqz	a0, kernel_return_checked
	ld	t0, T_HART(tp)
	ld	t0, HART_OWED(t0)
	bnez	t0, kernel_return
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

/*
 * An exception in the kernel: a page fault of a copy of user memory, or a
 * mistake (trap_kernel). SIE becomes what it was. That is 0 in the sampler,
 * which looks at user memory, and must not be interrupted by another sample.
 */
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
 * The stack pointer is no good: it has run onto a guard page, or never pointed
 * at a stack. So nothing is stored there. The panic runs on this hart's page of
 * overflow_stacks (trap.c), and is told what sp was.
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
