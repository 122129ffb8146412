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

/* What a panic and panic_limit need of the processes. proc_serve sets it, as
 * sched lies below proc. Both functions print, and take no lock. */
struct panic_calls {
	void (*process)(void);  /* which one runs on this hart */
	void (*sleepers)(void); /* panic_sleeper of each thread that sleeps */
};

extern struct panic_calls panic_calls;

struct thread;
void panic_sleeper(const struct thread *t, const char *process);

/* The boot argument limit has run out: print where each hart is and which lock
 * it waits for, and what each thread sleeps on; power off. */
void panic_limit(void) __attribute__((noreturn));
/* Does not return if another hart is in a panic, or at the limit. Called at
 * each interrupt, with external interrupts masked. */
void panic_stop_if_asked(void);

#endif
