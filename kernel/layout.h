/*
 * The memory map, in address order.
 *
 *   0x0000000000010000  USER_BASE: a program's text, data, heap (grows up)
 *   0x0000000080000000  USER_TOP: the user stack grows down from here
 *   0xfffffffec0000000  STACK_BASE: kernel stacks, a guard below each
 *   0xffffffff00000000  DIRECT_BASE: physical memory and devices, 4 GiB
 *   0xffffffff80200000  the kernel, inside the direct map
 *
 * One rule turns a physical address into a kernel virtual one and back: set
 * or clear the upper 32 bits. Every address space shares the root entries of
 * the kernel's half, so a trap switches no page table.
 *
 * Included by assembly too: plain constants only.
 */
#ifndef KERNEL_LAYOUT_H
#define KERNEL_LAYOUT_H

#define PAGE_SHIFT 12
#define PAGE_SIZE  (1 << PAGE_SHIFT)

#define USER_BASE      0x10000
#define USER_TOP       0x80000000
#define USER_STACK_MAX (8 << 20) /* bytes below USER_TOP a stack may fill */

/*
 * A kernel stack fills the upper half of an aligned slot; the lower half is
 * never mapped. So bit KSTACK_SHIFT of a good stack pointer is set, and the
 * trap path tests it with one shift. (The boot stacks keep to this too.)
 */
#define KSTACK_SHIFT 14
#define KSTACK_SIZE  (1 << KSTACK_SHIFT)
#define KSTACK_SLOT  (2 * KSTACK_SIZE)

#define STACK_BASE  0xfffffffec0000000
#define DIRECT_BASE 0xffffffff00000000
#define KERNEL_BASE 0xffffffff80200000

/* Sv39 root entries, 1 GiB each. */
#define ROOT_STACKS 507
#define ROOT_DIRECT 508

#ifndef __ASSEMBLER__

#include <stdint.h>

/* The kernel virtual address of physical address pa (below 4 GiB). */
static inline void *
pa_to_va(uint64_t pa)
{
	return (void *)(pa | DIRECT_BASE);
}

/* The physical address of va, which must lie in the direct map. */
static inline uint64_t
va_to_pa(const void *va)
{
	return (uint64_t)va & 0xffffffff;
}

/* Bounds of the kernel image's parts, from linker.ld. */
extern char text_start[], etext[], text_end[]; /* text_end: page aligned */
extern char rodata_end[], kernel_end[];

#endif
#endif
