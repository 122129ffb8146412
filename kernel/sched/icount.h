/* Several harts under QEMU's -icount: see icount.c. On any other machine
 * machine.icount is false, and none of this is called. */
#ifndef KERNEL_ICOUNT_H
#define KERNEL_ICOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/riscv.h"
#include "machine/machine.h"

struct hart;
struct ktrapframe;

/* h, the boot hart, has the machine: before it starts others. */
void icount_start(struct hart *h);

/* At the end of an interrupt of level 0, at level 5: if another hart is to
 * execute, sleep until this one is. kf: what was interrupted; NULL: user mode,
 * or the exit stub. Returns the cause of an interrupt that is pending then, for
 * the caller to handle; SIE is 0 if it is the timer's. 0: h can go on. */
unsigned long icount_wait(struct hart *h, const struct ktrapframe *kf);

/* At the end of the timer's interrupt of a raised level, with SIE=0: if h
 * should have let others execute long ago, it does so now. */
void icount_insist(struct hart *h);

/* The idle thread of h is about to sleep: is another hart to execute? Then it
 * interrupts itself, in idle_wait. */
bool icount_passes(struct hart *h);
static inline unsigned long
icount_idle(struct hart *h)
{
	return machine.icount && icount_passes(h) ? SIE_SOFT : 0;
}

/* Something is wanted of h, maybe only that it runs a thread. If it sleeps
 * until it gets the machine, it will look then; at once, if this hart naps.
 * False: it executes, and must be interrupted. */
bool icount_ask(struct hart *h);

/* h waits for another hart: let others execute. False: there is none that
 * could. With SIE=0. */
bool icount_nap(struct hart *h);

/* h has stopped for good: somebody else executes. */
void icount_leave(struct hart *h);

/* A sample of h, which executes, has been taken, from `begin' on; `idle' if it
 * was found so. At a stroke of the sampling clock take those of the harts that
 * idle as well. h's turn isn't shorter for all this. */
void icount_sampled(struct hart *h, bool idle, uint64_t begin);

/* So many strokes will be skipped of the same idle harts; below 0: they won't
 * be. */
void icount_skip_idle(int64_t n);

#endif
