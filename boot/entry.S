/*
 * From OpenSBI's jump to the first line of C, on every hart.
 *
 * OpenSBI jumps to the kernel's lowest address with the MMU off: on one hart,
 * any of them, of its own accord, on the others when sbi_hart_start asks for
 * them. The code is linked at its address in the direct map but runs at the
 * physical one until the MMU is on; `la` is relative to the pc, so it gives
 * whichever of the two is in force.
 */
#include "layout.h"
#include "offsets.h"
#include "riscv.h"

/*
 * Turn the MMU on with a page table and go on at label, in the direct map.
 * Where the pc is, nothing is mapped then: fetching the next instruction
 * faults, and the trap goes to label, which stvec wants aligned. Uses t0, t1.
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
 * a0: hart id; on the hart that comes first a1: physical address of the device
 * tree.
 *
 * On the others a1 and the address are no use: OpenSBI (1.1 at least) tells a
 * hart to start before it has written where and with what, so one that is awake
 * just then starts as if it were the first. Hence one entry for all, a word
 * that says who is first, and nothing asked of the rest but their id.
 *
 * Step 1: no interrupt may come before there is a vector. Who is first?
 * Step 2: clear the bss.
 * Step 3: copy the device tree: it may lie beyond what the kernel maps. A
 *         tree larger than the buffer is cut, which fdt_read notices.
 * Step 4: turn the MMU on.
 * Step 5: the boot thread, its stack, and C.
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
 * Another hart: everything is ready for it by now, its idle thread too. The
 * hart's id says which one that is.
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
 * The boot page table: the direct map, four gigabyte pages, read, write and
 * execute. aspace_init makes the one that replaces it.
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
 * The boot stack fills the odd half of an aligned slot, as all kernel stacks
 * do (layout.h); the copy of the device tree fills what lies below it.
 */
	.bss
	.balign	2 * KSTACK_SLOT
	.globl	boot_dtb, boot_dtb_end, boot_stack_end
boot_dtb:
	.space	KSTACK_SLOT + KSTACK_SIZE
boot_dtb_end:
	.space	KSTACK_SIZE
boot_stack_end:
