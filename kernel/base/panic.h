/*
 * A panic: the kernel has found that something is wrong with itself, and ends.
 * Any code may call it, in any context. So it is declared in the lowest room,
 * but defined in sched/panic.c, as it must stop the other harts.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

/* Stop the other harts, print the message, a backtrace and where each hart was,
 * and power off. */
void panic(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#define assert(x) ((x) ? (void)0 : panic("%s:%d: %s", __FILE__, __LINE__, #x))

/* A panic for a trap that can't be handled. fp and ra are s0 and ra of the code
 * that trapped, from which the backtrace continues; 0: they aren't known. */
void panic_trap(const char *what, unsigned long sepc, unsigned long scause,
		unsigned long stval, unsigned long fp, unsigned long ra)
    __attribute__((noreturn));
/* Print which process runs on this hart, as a part of a panic's message.
 * proc_serve sets it, as sched lies below proc. */
extern void (*panic_process)(void);
/* The boot argument limit has run out: print where each hart was, power off. */
void panic_limit(void) __attribute__((noreturn));
/* Does not return if another hart is in a panic, or at the limit. Called at
 * each interrupt, with external interrupts masked. */
void panic_stop_if_asked(void);

#endif
