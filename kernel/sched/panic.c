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

#include "check_locks.h"
#include "clock.h"
#include "hart.h"
#include "icount.h"
#include "thread.h"

#define STATUS_LIMIT 124 /* QEMU's exit status */
#define STATUS_PANIC 125

#define DLE     '\x10'
#define FRAMES  20  /* of a backtrace; a runaway recursion has more */
#define CALLS   10  /* of a thread that sleeps */
#define STOP_MS 100 /* how long to wait for the other harts */

#define TEXT_MAX (MESSAGE_MAX - 32) /* "panic in the panic: " goes before it */

struct panic_calls panic_calls;

static struct hart *ending;   /* the hart that ends everything; atomic */
static unsigned long stopped; /* a bit for each other that has; atomic */

/* Of the trap that a hart panics for: panic_trap leaves this for panic, where a
 * debugger's breakpoint then finds every panic. */
static struct trapped {
	unsigned long pc; /* 0: there was none */
	unsigned long fp, ra;
} trapped[HART_MAX];

/* Another hart ends everything: sleep for good. */
static void __attribute__((noreturn)) stop(void)
{
	__atomic_fetch_or(&stopped, 1UL << this_hart()->id, __ATOMIC_RELEASE);
	csr_write(sie, 0);
	if (machine.icount)
		icount_leave(this_hart());
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

static bool
all_stopped(void)
{
	unsigned long bits = __atomic_load_n(&stopped, __ATOMIC_ACQUIRE);

	return (unsigned int)__builtin_popcountl(bits) + 1 >= nharts;
}

/*
 * Interrupt all other harts, and wait until they have stopped; but not for
 * ever: some may not have started yet, or spin with SIE=0. While this hart
 * naps, under -icount, QEMU executes the others. The timer must be on for that,
 * which at boot it may not be.
 */
static void
stop_others(void)
{
	uint64_t deadline = rdtime() + machine.timebase / 1000 * STOP_MS;

	for (unsigned int i = 0; i < nharts; i++)
		if (&harts[i] != this_hart())
			hart_interrupt(&harts[i]);
	csr_set(sie, SIE_TIMER);
	while (!all_stopped() && rdtime() < deadline)
		clock_nap();
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
print_pc(const char *before, unsigned long pc, unsigned long back,
	 const char *behind)
{
	unsigned long offset;
	const char *name = symbol_name(pc - back, &offset);

	kprintf("%s0x%lx", before, pc);
	if (name)
		kprintf(" %s+0x%lx", name, offset + back);
	kprintf("%s", behind);
}

static void
print_backtrace(unsigned long fp)
{
	unsigned long pc[FRAMES + 1];
	unsigned int n = frames_walk(fp, pc, FRAMES + 1);

	for (unsigned int i = 0; i < n && i < FRAMES; i++)
		print_pc("  ", pc[i], 1, "\n");
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

	print_pc("  ", pc, 0, "\n");
	if (caller && caller != name)
		print_pc("  ", ra, 1, "\n");
}

/* Where each hart is; and which spinlock it waits for, and who has that. A hart
 * that hasn't stopped is where a tick last found it. */
static void
print_harts(void)
{
	for (const struct hart *h = harts; h < harts + nharts; h++) {
		const struct spinlock *lk = __atomic_load_n(&h->wanted,
							    __ATOMIC_RELAXED);

		kprintf("hart %u: ", h->id);
		print_pc("", h->last_pc, 0, "");
		if (h != this_hart() && !(stopped >> h->id & 1))
			kprintf(" (last known: it did not stop)");
		if (lk && lk->hart)
			kprintf("\n  waits for lock %s, which hart %u took "
				"at %s",
				lk->name, lk->hart->id,
				symbol_place(lk->pc).text);
		kprintf("\n");
		check_print_spinlocks(h);
	}
}

/* The first of the calls in progress is that of sched; it says nothing. */
UNGUARDED void
panic_sleeper(const struct thread *t, const char *process)
{
	uint64_t ms = (rdtime() - t->wait_since) * 1000 / machine.timebase;
	const struct mutex *m = t->wait_mutex;
	unsigned long pc[CALLS], n = frames_walk(t->ctx.s0, pc, CALLS);

	kprintf("thread %d (%s) sleeps on %s%s for %lu ms\n", t->tid, process,
		m ? "mutex " : "", t->wait_lock->name, ms);
	if (m && mutex_owner(m))
		kprintf("  held by thread %d\n", mutex_owner(m)->tid);
	check_print_mutexes(t);
	for (unsigned long i = 1; i < n; i++)
		print_pc("  ", pc[i], 1, "\n");
}

/*
 * The text is complete already: if formatting it fails, that is a panic of its
 * own. The backtrace is taken from the frame pointer fp; after a trap it begins
 * where that was taken.
 */
static void __attribute__((noreturn)) end(const char *text, unsigned long fp)
{
	const struct trapped *t = &trapped[this_hart()->id];

	if (begin_end('P')) {
		kprintf("panic: %s\n", text);
		kprintf("hart %u, ", this_hart()->id);
		if (this_hart()->sampling & 1)
			kprintf("in the sampler, ");
		panic_calls.process();
		if (t->pc != 0)
			print_trapped(t->pc, t->ra);
		print_backtrace(t->pc != 0 ? t->fp : fp);
		print_harts();
	} else {
		kprintf("panic during a panic: %s\n", text);
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
	end(text, (unsigned long)__builtin_frame_address(0));
}

void
panic_trap(const char *what, unsigned long sepc, unsigned long scause,
	   unsigned long stval, unsigned long fp, unsigned long ra)
{
	trapped[this_hart()->id] = (struct trapped){sepc, fp, ra};
	panic("%s, scause %lu sepc 0x%lx stval 0x%lx", what, scause, sepc,
	      stval);
}

void
panic_limit(void)
{
	if (begin_end('L')) {
		kprintf("time limit reached\n");
		print_harts();
		panic_calls.sleepers();
	}
	sbi_poweroff(STATUS_LIMIT);
}
