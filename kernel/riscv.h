/*
 * The hart's own registers and instructions, by the names of the RISC-V
 * privileged specification. Included by assembly too.
 */
#ifndef KERNEL_RISCV_H
#define KERNEL_RISCV_H

#define SSTATUS_SIE      0x2    /* interrupts are enabled in S-mode */
#define SSTATUS_SPIE     0x20   /* SIE as it was before the trap */
#define SSTATUS_SPP      0x100  /* the trap came from S-mode */
#define SSTATUS_VS       0x600  /* state of the vector registers: never on */
#define SSTATUS_FS       0x6000 /* state of the floating-point registers */
#define SSTATUS_FS_CLEAN 0x4000
#define SSTATUS_FS_DIRTY 0x6000
#define SSTATUS_SUM      0x40000 /* S-mode may touch user pages */

/* scounteren: user mode may read cycle, time and instret. */
#define SCOUNTEREN_ALL 0x7

/* Interrupts, as bits of sie and sip. */
#define SIE_SOFT     0x2
#define SIE_TIMER    0x20
#define SIE_EXTERNAL 0x200

/* scause: interrupts have the top bit set. */
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

/* Sv39 page table entries. */
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

#include "../lib/function.h"

#else

#include <stdint.h>

#define CSR_STRING_(x) #x
#define CSR_STRING(x)  CSR_STRING_(x)

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

/* Clear bits in a CSR; gives its value before. */
#define csr_read_clear(csr, bits)                                \
	({                                                       \
		unsigned long v_;                                \
		asm volatile("csrrc %0, " CSR_STRING(csr) ", %1" \
			     : "=r"(v_)                          \
			     : "rK"(bits)                        \
			     : "memory");                        \
		v_;                                              \
	})

/* The machine's clock, in ticks of machine.timebase. */
static inline uint64_t
rdtime(void)
{
	uint64_t t;

	asm volatile("rdtime %0" : "=r"(t));
	return t;
}

/* Forget every cached translation on this hart. */
static inline void
tlb_flush(void)
{
	asm volatile("sfence.vma" ::: "memory");
}

/* Forget this hart's cached translation of the page at va. */
static inline void
tlb_flush_page(uintptr_t va)
{
	asm volatile("sfence.vma %0, zero" ::"r"(va) : "memory");
}

/* Forget the instructions that this hart has fetched: some may be stored anew
 * by now. */
static inline void
icache_flush(void)
{
	asm volatile("fence.i" ::: "memory");
}

/*
 * Order among memory (r, w) what is outside it: devices' registers, interrupts
 * of other harts, and control registers, which are input (i) and output (o) to
 * a fence. Nothing else does that, no lock either. Those of `before` stay
 * before those of `after`.
 */
#define fence(before, after) \
	asm volatile("fence " #before "," #after ::: "memory")

#endif
#endif
