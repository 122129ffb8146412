/*
 * The hart's own registers and instructions, by the names of the RISC-V
 * privileged specification. The kernel runs in S-mode, programs in U-mode, and
 * the firmware in M-mode. Assembly includes this file, too.
 */
#ifndef KERNEL_RISCV_H
#define KERNEL_RISCV_H

#define SSTATUS_SIE      0x2    /* interrupts are enabled in S-mode */
#define SSTATUS_SPIE     0x20   /* SIE as it was before the trap */
#define SSTATUS_SPP      0x100  /* the trap came from S-mode */
#define SSTATUS_VS       0x600  /* state of the vector registers: never on */
#define SSTATUS_FS       0x6000 /* state of the floating-point registers: */
#define SSTATUS_FS_CLEAN 0x4000
#define SSTATUS_FS_DIRTY 0x6000
#define SSTATUS_SUM      0x40000 /* S-mode may touch user pages */

/* scounteren: user mode may read cycle, time and instret. */
#define SCOUNTEREN_ALL 0x7

/* Interrupts, as bits of sie (which are enabled) and sip (which are pending). A
 * software interrupt is one that a hart has sent to another, or to itself. */
#define SIE_SOFT     0x2
#define SIE_TIMER    0x20
#define SIE_EXTERNAL 0x200

#define ECALL_SIZE 4 /* bytes of the instruction */

/* scause: why a trap was taken. Interrupts have the top bit set. */

#define CAUSE_INTERRUPT        (1UL << 63)
#define CAUSE_SOFT             (CAUSE_INTERRUPT | 1)
#define CAUSE_TIMER            (CAUSE_INTERRUPT | 5)
#define CAUSE_EXTERNAL         (CAUSE_INTERRUPT | 9)
#define CAUSE_FETCH_MISALIGNED 0
#define CAUSE_FETCH_ACCESS     1
#define CAUSE_ILLEGAL          2
#define CAUSE_BREAKPOINT       3
#define CAUSE_LOAD_MISALIGNED  4
#define CAUSE_LOAD_ACCESS      5
#define CAUSE_STORE_MISALIGNED 6
#define CAUSE_STORE_ACCESS     7
#define CAUSE_ECALL            8
#define CAUSE_FETCH_PAGE       12
#define CAUSE_LOAD_PAGE        13
#define CAUSE_STORE_PAGE       15

/* Sv39 page table entries: valid; readable, writable, executable (none: it
 * points to another table); for user mode; global; accessed; dirty. */
#define PTE_V     0x1
#define PTE_R     0x2
#define PTE_W     0x4
#define PTE_X     0x8
#define PTE_U     0x10
#define PTE_G     0x20
#define PTE_A     0x40
#define PTE_D     0x80
#define SATP_SV39 (8UL << 60)

#define CSR_STIMECMP 0x14d /* by number: older assemblers lack the name */

#ifdef __ASSEMBLER__

#include "lib/function.h"

#else

#include <stdint.h>

#define CSR_STRING_(x) #x
#define CSR_STRING(x)  CSR_STRING_(x)

/* Control and status registers, by name: csr_read(sie). The compiler moves no
 * loads and stores across these. For what the hart may do see fence, below. */
#define csr_read(csr)                                    \
	({                                               \
		unsigned long v_;                        \
		asm volatile("csrr %0, " CSR_STRING(csr) \
			     : "=r"(v_)::"memory");      \
		v_;                                      \
	})
#define csr_write(csr, val) \
	asm volatile("csrw " CSR_STRING(csr) ", %0" ::"rK"(val) : "memory")
#define csr_set(csr, bits) \
	asm volatile("csrs " CSR_STRING(csr) ", %0" ::"rK"(bits) : "memory")
#define csr_clear(csr, bits) \
	asm volatile("csrc " CSR_STRING(csr) ", %0" ::"rK"(bits) : "memory")

/* Clear bits in a CSR and return its value from before, in one instruction: no
 * interrupt can come between the two. */
#define csr_read_clear(csr, bits)                                \
	({                                                       \
		unsigned long v_;                                \
		asm volatile("csrrc %0, " CSR_STRING(csr) ", %1" \
			     : "=r"(v_)                          \
			     : "rK"(bits)                        \
			     : "memory");                        \
		v_;                                              \
	})

/* The machine's clock, in counts: machine.timebase of them are a second. */
static inline uint64_t
rdtime(void)
{
	uint64_t t;

	asm volatile("rdtime %0" : "=r"(t));
	return t;
}

/* Forget every translation that this hart's TLB has cached. This and the next
 * two act on the hart that executes them only; mm/ktable.c has others do so. */
static inline void
tlb_flush(void)
{
	asm volatile("sfence.vma" ::: "memory");
}

static inline void
tlb_flush_page(uintptr_t va)
{
	asm volatile("sfence.vma %0, zero" ::"r"(va) : "memory");
}

/* Forget the instructions that this hart has fetched: new ones were stored. */
static inline void
icache_flush(void)
{
	asm volatile("fence.i" ::: "memory");
}

/*
 * Accesses named in `before` stay before accesses named in `after`. r and w are
 * loads and stores of memory; i and o are input from and output to what is not
 * memory: devices' registers, interrupts of other harts, control registers.
 * Nothing else orders one kind with the other: locks order memory only.
 */
#define fence(before, after) \
	asm volatile("fence " #before "," #after ::: "memory")

#endif
#endif
