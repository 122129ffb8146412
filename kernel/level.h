/*
 * Interrupt priority levels.
 *
 * A level is what sie leaves unmasked; the timer never is masked, so that no
 * code hides from the sampler:
 *
 *   0  nothing masked: user mode, system calls, the idle loop
 *   1  software interrupts masked: no other hart can make this one reschedule
 *   5  external interrupts masked too: device handlers, the tick's work
 *   7  SIE=0: the sampler itself, the trap stubs' first instructions, a panic
 *
 * Raising is one instruction. Lowering writes sie, then does the work that
 * the timer handler left because it had interrupted a raised level.
 */
#ifndef KERNEL_LEVEL_H
#define KERNEL_LEVEL_H

#include "riscv.h"

#define LEVEL_ALL   (SIE_SOFT | SIE_TIMER | SIE_EXTERNAL) /* sie at level 0 */
#define LEVEL1_MASK (SIE_SOFT)
#define LEVEL5_MASK (SIE_SOFT | SIE_EXTERNAL)

#ifndef __ASSEMBLER__
/* Raise to at least the level of mask; gives the sie to go back to. */
static inline unsigned long
level_raise(unsigned long mask)
{
	return csr_read_clear(sie, mask);
}

/* The level that a value of sie means. */
static inline int
level_of(unsigned long sie)
{
	if (sie & SIE_SOFT)
		return 0;
	return sie & SIE_EXTERNAL ? 1 : 5;
}
#endif

#endif
