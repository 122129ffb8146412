/*
 * Calls to the firmware, OpenSBI: the few things that S-mode can't do itself.
 *
 * An SBI call is an ecall, which traps to M-mode as a program's ecall traps to
 * the kernel. a7 is the extension, a6 its function, and arguments are from a0
 * on. It returns an error in a0 (0: none) and a value in a1.
 */
#include "sbi.h"

#include "base/layout.h"
#include "base/print.h"
#include "base/riscv.h"

#include "machine.h"

/* Extensions, and the function of each that is used here. */
#define SBI_CONSOLE_PUTCHAR 1          /* the old console: no function number */
#define SBI_TIME            0x54494d45 /* "TIME" */
#define TIME_SET_TIMER      0
#define SBI_IPI             0x735049 /* "sPI" */
#define IPI_SEND            0
#define SBI_HSM             0x48534d /* "HSM" */
#define HSM_HART_START      0
#define SBI_SRST            0x53525354 /* "SRST" */
#define SRST_RESET          0
#define SRST_SHUTDOWN       0 /* the type of reset, */
#define SRST_NO_REASON      0 /* and why: no reason, */
#define SRST_FAILURE        1 /* or system failure */

/* What is written to the SiFive test device. It makes QEMU exit. */
#define TEST_PASS       0x5555
#define TEST_FAIL       0x3333
#define TEST_CODE_SHIFT 16 /* the exit status stands above TEST_FAIL */

/* One call; returns 0 or SBI's error, a negative number that is no errno. */
static long
sbi_call(long ext, long function, unsigned long arg0, unsigned long arg1)
{
	register unsigned long a0 asm("a0") = arg0;
	register unsigned long a1 asm("a1") = arg1;
	register long a6 asm("a6") = function;
	register long a7 asm("a7") = ext;

	asm volatile("ecall"
		     : "+r"(a0), "+r"(a1)
		     : "r"(a6), "r"(a7)
		     : "memory");
	return (long)a0;
}

void
sbi_set_timer(uint64_t when)
{
	sbi_call(SBI_TIME, TIME_SET_TIMER, when, 0);
}

/*
 * SBI takes a set of harts, as a mask and the hart id of the mask's bit 0: so a
 * single hart is mask 1. It must find what was stored before it is interrupted.
 * SBI doesn't promise that the firmware sees to that, hence the fence. Litmus
 * tests for it and the next one, wake-up and start, are in docs/locks.md.
 */
void
sbi_send_ipi(unsigned int hartid)
{
	fence(w, o);
	sbi_call(SBI_IPI, IPI_SEND, 1, hartid);
}

int
sbi_hart_start(unsigned int hartid, uint64_t entry)
{
	fence(w, o);
	return sbi_call(SBI_HSM, HSM_HART_START, hartid, entry);
}

void
sbi_putchar(char c)
{
	sbi_call(SBI_CONSOLE_PUTCHAR, 0, (unsigned char)c, 0);
}

/* Power off in one way or the other, but not in both: QEMU 10 ends some time
 * after it was told to, with the status that it was told last, and the
 * firmware's is always 0. */
void
sbi_poweroff(int status)
{
	printer->flush();
	if (machine.test) {
		volatile uint32_t *test = pa_to_va(machine.test);

		*test = status ? (uint32_t)status << TEST_CODE_SHIFT | TEST_FAIL
			       : TEST_PASS;
	} else {
		sbi_call(SBI_SRST, SRST_RESET, SRST_SHUTDOWN,
			 status ? SRST_FAILURE : SRST_NO_REASON);
	}
	for (;;)
		asm volatile("wfi");
}
