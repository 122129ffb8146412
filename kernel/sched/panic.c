/*
 * The end of everything: a panic, or the time limit.
 *
 * The first hart that comes here ends the machine. It asks all others to stop,
 * and each does at its next interrupt. That is a timer interrupt at the latest,
 * since the timer is never masked. Then it prints and powers off. It prints
 * without taking a lock, as a lock's holder may have been stopped.
 *
 * With the boot argument `framed`, a mark in the output tells scripts/run that
 * what follows belongs to this: DLE P for a panic, DLE L for the time limit.
 */
#include <stdint.h>
#include <stdio.h>

#include "base/frames.h"
#include "base/panic.h"
#include "base/print.h"
#include "base/riscv.h"
#include "base/symbols.h"
#include "machine/machine.h"
#include "machine/sbi.h"

#include "hart.h"

#define STATUS_LIMIT 124 /* QEMU's exit status */
#define STATUS_PANIC 125

#define DLE     '\x10'
#define FRAMES  20  /* of a backtrace; a runaway recursion has more */
#define STOP_MS 100 /* how long to wait for the other harts */

#define TEXT_MAX (MESSAGE_MAX - 32) /* "panic in the panic: " goes before it */

void (*panic_process)(void);

static struct hart *ending;  /* the hart that ends everything; atomic */
static unsigned int stopped; /* how many others have stopped; atomic */

/* Another hart ends everything: sleep for good. */
static void __attribute__((noreturn)) stop(void)
{
	__atomic_add_fetch(&stopped, 1, __ATOMIC_RELEASE);
	csr_write(sie, 0);
	for (;;)
		asm volatile("wfi");
}

void
panic_stop_if_asked(void)
{
	struct hart *h = __atomic_load_n(&ending, __ATOMIC_RELAXED);

	if (h && h != this_hart())
		stop();
}

/* Interrupt all other harts, and wait until they have stopped; but not for
 * ever, as some may not have started yet. */
static void
stop_others(void)
{
	uint64_t deadline = rdtime() + machine.timebase / 1000 * STOP_MS;

	for (unsigned int i = 0; i < nharts; i++)
		if (&harts[i] != this_hart())
			sbi_send_ipi(harts[i].hartid);
	while (__atomic_load_n(&stopped, __ATOMIC_ACQUIRE) + 1 < nharts &&
	       rdtime() < deadline)
		;
}

/* Become the hart that prints and powers off, or stop if another one is. False:
 * this is a panic within the panic. channel is the mark's second character. */
static bool
begin_end(char channel)
{
	const char mark[] = {DLE, channel, '\0'};
	struct hart *holder = NULL;

	csr_clear(sstatus, SSTATUS_SIE);
	if (!__atomic_compare_exchange_n(&ending, &holder, this_hart(), false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		if (holder != this_hart())
			stop();
		return false;
	}
	stop_others();
	printer->break_in();
	printer->print(bootarg_present("framed") ? mark : "\n");
	return true;
}

/* back is 1 for a return address: the call may be the last instruction of its
 * function, and the address that follows be in the next one. Else back is 0. */
static void
print_pc(const char *indent, unsigned long pc, unsigned long back)
{
	unsigned long offset;
	const char *name = symbol_name(pc - back, &offset);

	kprintf("%s0x%lx", indent, pc);
	if (name)
		kprintf(" %s+0x%lx", name, offset + back);
	kprintf("\n");
}

static void
print_backtrace(unsigned long fp)
{
	unsigned long pc[FRAMES + 1];
	unsigned int n = frames_walk(fp, pc, FRAMES + 1);

	for (unsigned int i = 0; i < n && i < FRAMES; i++)
		print_pc("  ", pc[i], 1);
	if (n > FRAMES)
		kprintf("  ...\n");
}

/*
 * Print pc, where a trap was taken, and perhaps its caller. The function may
 * have had no frame, or none yet; then only ra tells its caller. If it has
 * called others itself ra lies in it, and is of no use.
 */
static void
print_trapped(unsigned long pc, unsigned long ra)
{
	unsigned long offset;
	const char *name = symbol_name(pc, &offset);
	const char *caller = symbol_name(ra - 1, &offset);

	print_pc("  ", pc, 0);
	if (caller && caller != name)
		print_pc("  ", ra, 1);
}

static void
print_harts(void)
{
	for (unsigned int i = 0; i < nharts; i++) {
		kprintf("hart %u: ", i);
		print_pc("", harts[i].last_pc, 0);
	}
}

/*
 * The text is complete already: if formatting it fails, that is a panic of its
 * own. The backtrace is taken from the frame pointer fp. After a trap it begins
 * with *where, the pc, and ra; otherwise where is NULL.
 */
static void __attribute__((noreturn))
end(const char *text, unsigned long fp, const unsigned long *where,
    unsigned long ra)
{
	if (begin_end('P')) {
		kprintf("panic: %s\n", text);
		kprintf("hart %u, ", this_hart()->id);
		panic_process();
		if (where)
			print_trapped(*where, ra);
		print_backtrace(fp);
		print_harts();
	} else {
		kprintf("panic in the panic: %s\n", text);
	}
	sbi_poweroff(STATUS_PANIC);
}

void
panic(const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	end(text, (unsigned long)__builtin_frame_address(0), NULL, 0);
}

void
panic_trap(const char *what, unsigned long sepc, unsigned long scause,
	   unsigned long stval, unsigned long fp, unsigned long ra)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "%s, scause %lu sepc 0x%lx stval 0x%lx",
		 what, scause, sepc, stval);
	end(text, fp, &sepc, ra);
}

void
panic_limit(void)
{
	if (begin_end('L')) {
		kprintf("time limit reached\n");
		print_harts();
	}
	sbi_poweroff(STATUS_LIMIT);
}
