/*
 * The memory map, in address order.
 *
 *   0x0000000000010000  USER_BASE: a program's text, data, heap (grows up)
 *   0x000000007f7f0000  USER_SIGRETURN: a page to which handlers return
 *   0x0000000080000000  TEXT_TOP: the user stack grows down from here; what
 *                       programs map that isn't executed comes above
 *   0x0000004000000000  USER_TOP: the end of Sv39's lower half
 *   0xfffffffec0000000  STACK_BASE: kernel stacks, a guard below each
 *   0xffffffff00000000  DIRECT_BASE: physical memory and devices, 4 GiB
 *   0xffffffff80200000  KERNEL_BASE: the kernel, inside the direct map
 *
 * One rule turns a physical address into a kernel virtual one and back: set or
 * clear the upper 32 bits. For example, QEMU's serial port at 0x10000000 is
 * accessed at 0xffffffff10000000. So all memory that the kernel uses is below 4
 * GiB, and no page has to be mapped before the kernel can use it.
 *
 * Every address space shares the root entries of the kernel's half, so a trap
 * need not change the page table. Assembly includes this file, too.
 */
#ifndef KERNEL_LAYOUT_H
#define KERNEL_LAYOUT_H

#define PAGE_SHIFT 12
#define PAGE_SIZE  (1 << PAGE_SHIFT)

/*
 * A program may use any address from USER_BASE up to USER_TOP. But all that is
 * executed lies below TEXT_TOP, as a record of pcs has 32 bits for a pc; and so
 * do a program's data, its heap, its first stack, and files that it maps
 * without an address, which may be libraries. These end at FILES_TOP, so that a
 * stack that grows too far touches nothing.
 */
#define USER_BASE      0x10000
#define TEXT_TOP       0x80000000
#define USER_TOP       0x4000000000
#define USER_STACK_MAX (8 << 20) /* bytes below TEXT_TOP a stack may fill */
#define USER_SIGRETURN (TEXT_TOP - USER_STACK_MAX - 0x10000)
#define FILES_TOP      (TEXT_TOP - 2 * USER_STACK_MAX)

/*
 * A kernel stack fills the upper half of an aligned slot; the lower half is a
 * guard that is never mapped:
 *
 *   slot + 0 KiB    guard    bit 14 of the address is 0
 *   slot + 16 KiB   stack    bit 14 of the address is 1
 *   slot + 32 KiB   the next slot
 *
 * So bit KSTACK_SHIFT of a good stack pointer is 1, which the trap entry tests
 * before it stores to the stack. The boot stack lies in such a half, too, but
 * what is below it is mapped (boot/entry.S).
 */
#define KSTACK_SHIFT 14
#define KSTACK_SIZE  (1 << KSTACK_SHIFT)
#define KSTACK_SLOT  (2 * KSTACK_SIZE)

#define STACK_BASE  0xfffffffec0000000
#define DIRECT_BASE 0xffffffff00000000
#define KERNEL_BASE 0xffffffff80200000

/* Indices of Sv39 root entries, 1 GiB each: bits 38 to 30 of the addresses. */
#define ROOT_STACKS 507
#define ROOT_DIRECT 508

#ifndef __ASSEMBLER__

#include <stdint.h>

/* The kernel virtual address of physical address pa, which is below 4 GiB. */
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

/* Bounds of the kernel image's parts, from linker.ld. The code ends at etext,
 * its last page at text_end. */
extern char text_start[], etext[], text_end[];
extern char rodata_end[], kernel_end[];

#endif
#endif
