/*
 * From the firmware's jump to the first line of C, on every hart.
 *
 * OpenSBI jumps to the kernel's lowest address, _start, in S-mode and with the
 * MMU off: on one hart, which may be any, of its own accord; on the others when
 * sbi_hart_start asks for them. Read main.c next.
 *
 * The kernel is linked at its address in the direct map, 0xffffffff80200000,
 * but it starts at the physical one, 0x80200000. `la` adds a distance to the
 * pc, and so yields physical addresses until the MMU is on, and virtual ones
 * after that.
 */
#include "base/layout.h"
#include "sched/offsets.h"
#include "base/riscv.h"

/*
 * Turn the MMU on with the page table root, and continue at label in the direct
 * map. Uses t0 and t1.
 *
 * The page tables map nothing at physical addresses, where the pc still is. So
 * fetching the instruction after the write to satp causes a page fault. A trap
 * goes to the address in stvec, here the virtual one of label: the fault is the
 * jump. stvec wants a multiple of 4, so label must follow the macro's .balign.
 */
.macro ENABLE_MMU root, label
	la	t0, \label
	li	t1, DIRECT_BASE
	or	t0, t0, t1
	csrw	stvec, t0
	la	t0, \root
	srli	t0, t0, PAGE_SHIFT
	li	t1, SATP_SV39
	or	t0, t0, t1
	sfence.vma
	csrw	satp, t0
	.balign	4
.endm

/*
 * The entry of all harts. a0 is the hart's id; on the first hart a1 is the
 * physical address of the device tree.
 *
 * The others have no entry of their own, and make no use of a1: OpenSBI (1.1 at
 * least) tells a hart to start before it has written the address and a1 for it.
 * A hart that is awake at that moment starts as if it were the first. So all
 * harts come here, and the word `started` decides who is first.
 *
 * Step 1: Disable interrupts, as stvec isn't set yet. Then see who is first.
 *         `started` is in .data: step 2 would clear it in the bss.
 * Step 2: Clear the bss, before step 3, whose buffer lies in it.
 * Step 3: Copy the device tree while the MMU is off: it may lie beyond what the
 *         kernel maps, and page_init counts its memory as free. A tree larger
 *         than the buffer is cut, which machine_read notices.
 * Step 4: Turn the MMU on, as the next step needs virtual addresses.
 * Step 5: Set what C relies on: tp is the current thread, sscratch is 0 in the
 *         kernel (trap.S), and s0 = 0 ends a backtrace.
 */
	.section .text.boot, "ax"
FUNCTION _start
	/* Step 1 */
	csrw	sie, zero
	csrci	sstatus, SSTATUS_SIE
	la	t0, started
	li	t1, 1
	amoswap.w.aq t1, t1, (t0)
	bnez	t1, secondary
	/* Step 2 */
	la	t0, bss_start
	la	t1, bss_end
1:	sd	zero, 0(t0)
	addi	t0, t0, 8
	bltu	t0, t1, 1b
	/* Step 3 */
	la	t0, boot_dtb
	la	t1, boot_dtb_end
1:	ld	t2, 0(a1)
	sd	t2, 0(t0)
	addi	a1, a1, 8
	addi	t0, t0, 8
	bltu	t0, t1, 1b
	/* Step 4 */
	ENABLE_MMU boot_root, 2f
	/* Step 5 */
2:	la	tp, boot_thread
	la	sp, boot_stack_end
	csrw	sscratch, zero
	li	s0, 0
	call	boot_main

/*
 * A hart that isn't the first. kernel_root is complete by now, and start_harts
 * has made an idle thread for this hart. The loop finds its struct hart by its
 * id. It always does, as only harts in that array are started.
 */
FUNCTION secondary
	ENABLE_MMU kernel_root, 1f
1:	la	t0, harts - HART_SIZE
2:	addi	t0, t0, HART_SIZE
	lw	t1, HART_HARTID(t0)
	bne	t1, a0, 2b
	ld	tp, HART_IDLE(t0)
	ld	sp, T_KSTACK_TOP(tp)
	csrw	sscratch, zero
	li	s0, 0
	call	secondary_main

/*
 * The boot page table: the direct map, as four leaves of 1 GiB. An entry has
 * the physical page number from bit 10 on: n GiB is page n << 18, so n << 28.
 * 0xcf is V, R, W, X, A and D. aspace_init makes the table that replaces this
 * one, in which nothing is both writable and executable.
 */
#define GIGAPAGE(n) (((n) << 28) | 0xcf)
	.data
started:
	.word	0
	.balign	PAGE_SIZE
boot_root:
	.zero	ROOT_DIRECT * 8
	.quad	GIGAPAGE(0), GIGAPAGE(1), GIGAPAGE(2), GIGAPAGE(3)

/*
 * The boot stack fills the upper half of an aligned slot, as all kernel stacks
 * do (layout.h). The three halves below it hold the copy of the device tree:
 *
 *	0      16      32      48      64 KiB
 *	| tree    tree | tree    stack |
 */
	.bss
	.balign	2 * KSTACK_SLOT
	.globl	boot_dtb, boot_dtb_end, boot_stack_end
boot_dtb:
	.space	KSTACK_SLOT + KSTACK_SIZE
boot_dtb_end:
	.space	KSTACK_SIZE
boot_stack_end:
