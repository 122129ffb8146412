/*
 * Interrupt priority levels.
 *
 * The level is which interrupts the register sie leaves unmasked. The timer is
 * never masked, so no code can hide from the sampler:
 *
 *   0  nothing is masked: user mode, system calls, the idle loop
 *   1  software interrupts are: no other hart can make this one reschedule
 *   5  external interrupts, too: device handlers, the tick's work
 *   7  SIE=0: the sampler itself, the trap stubs' first instructions, a panic
 *
 * To lower it, level_lower in hart.h also does the work put off meanwhile.
 */
#ifndef KERNEL_LEVEL_H
#define KERNEL_LEVEL_H

#include "base/riscv.h"

#define LEVEL_ALL   (SIE_SOFT | SIE_TIMER | SIE_EXTERNAL) /* sie at level 0 */
#define LEVEL1_MASK (SIE_SOFT)
#define LEVEL5_MASK (SIE_SOFT | SIE_EXTERNAL)

#ifndef __ASSEMBLER__
/* Raise the level to at least mask's. Returns the sie for level_lower. */
static inline unsigned long
level_raise(unsigned long mask)
{
	return csr_read_clear(sie, mask);
}

/* The level that a value of sie means: 0, 1 or 5. */
static inline int
level_of(unsigned long sie)
{
	if (sie & SIE_SOFT)
		return 0;
	return sie & SIE_EXTERNAL ? 1 : 5;
}
#endif

#endif
