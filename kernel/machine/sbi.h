/* What the firmware does for the kernel: see sbi.c. No lock is needed. */
#ifndef KERNEL_SBI_H
#define KERNEL_SBI_H

#include <stdint.h>

/* Interrupt this hart when rdtime() reaches `when`; for harts without Sstc. */
void sbi_set_timer(uint64_t when);
/* Send a software interrupt to a hart, which may be this one. It finds all that
 * was stored before the call. */
void sbi_send_ipi(unsigned int hartid);
/* Start a hart at physical address entry, with the MMU off and its id in a0. It
 * finds all that was stored before the call. Returns 0 or SBI's error. */
int sbi_hart_start(unsigned int hartid, uint64_t entry);
/* Print a character while it isn't known yet where the serial port is. */
void sbi_putchar(char c);

#endif
