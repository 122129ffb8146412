/*
 * The end of everything: a panic, or the time limit.
 *
 * The first hart to come here wins. It asks the others to stop; each does at
 * its next interrupt, a timer interrupt at the latest, since that is never
 * masked. Then it prints, past any lock, for its holder may be stopped, and
 * powers off. A panic within the panic is one line.
 *
 * With the boot argument `framed`, a mark on the line tells scripts/run that
 * what follows belongs to this: DLE P for a panic, DLE L for the time limit.
 */
#include <stdint.h>
#include <stdio.h>

#include "dev/uart.h"
#include "frames.h"
#include "layout.h"
#include "machine.h"
#include "print.h"
#include "proc/proc.h"
#include "thread.h"

#define STATUS_LIMIT 124 /* QEMU's exit status */
#define STATUS_PANIC 125

#define DLE     '\x10'
#define FRAMES  20  /* of a backtrace; a runaway recursion has more */
#define STOP_MS 100 /* how long to wait for the other harts */

#define TEXT_MAX (MESSAGE_MAX - 32) /* "panic in the panic: " goes before it */

static struct hart *ending;  /* the hart that ends everything; atomic */
static unsigned int stopped; /* harts that have; atomic */

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

/* Interrupt all other harts, and wait until they have stopped; not for ever,
 * as some may not even have started. */
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

/*
 * Be the one that prints and powers off, or stop here. channel is the mark
 * for scripts/run. False: this hart is in here already.
 */
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
	uart_break_in();
	uart_print(bootarg_present("framed") ? mark : "\n");
	return true;
}

/* An address of kernel text, by name if it has one. back is 1 for a return
 * address: the call before it may be the last instruction of its function. */
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
	unsigned int n = kernel_frames(fp, pc, FRAMES + 1);

	for (unsigned int i = 0; i < n && i < FRAMES; i++)
		print_pc("  ", pc[i], 1);
	if (n > FRAMES)
		kprintf("  ...\n");
}

/*
 * What a trap interrupted may have had no frame, or not yet: then its caller
 * is only in ra. If it has called another, ra lies within itself.
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

/* Where the last timer interrupt found each hart. */
static void
print_harts(void)
{
	for (unsigned int i = 0; i < nharts; i++) {
		kprintf("hart %u: ", i);
		print_pc("", harts[i].last_pc, 0);
	}
}

static void
print_whereabouts(void)
{
	const struct proc *p = current->proc;

	kprintf("hart %u, ", this_hart()->id);
	if (p)
		kprintf("process %d (%s)\n", p->pid, p->name);
	else
		kprintf("no process\n");
}

/* The text is made before: if that goes wrong, it is a panic of its own. After
 * a trap (or else where is NULL) the backtrace begins with where, and ra. */
static void __attribute__((noreturn))
end(const char *text, unsigned long fp, const unsigned long *where,
    unsigned long ra)
{
	if (begin_end('P')) {
		kprintf("panic: %s\n", text);
		print_whereabouts();
		if (where)
			print_trapped(*where, ra);
		print_backtrace(fp);
		print_harts();
	} else {
		kprintf("panic in the panic: %s\n", text);
	}
	machine_poweroff(STATUS_PANIC);
}

void
panic(const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	end(text, (unsigned long)__builtin_frame_address(0), NULL, 0);
}

void
panic_trap(const char *what, unsigned long sepc, unsigned long scause,
	   unsigned long stval, unsigned long fp, unsigned long ra)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof text, "%s, scause %lu sepc 0x%lx stval 0x%lx",
		 what, scause, sepc, stval);
	end(text, fp, &sepc, ra);
}

void
limit_reached(void)
{
	if (begin_end('L')) {
		kprintf("time limit reached\n");
		print_harts();
	}
	machine_poweroff(STATUS_LIMIT);
}
