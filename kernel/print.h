/* Messages of the kernel's own, on the console; and the end of everything. */
#ifndef KERNEL_PRINT_H
#define KERNEL_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_MAX 256 /* bytes, with a NUL; what is longer is cut */

/* As printf, with the formats of lib/printf.c. A call's text is unbroken by
 * another hart's. */
void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Say why, where and how it came to this, stop every hart, power off. */
void panic(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#define assert(x) ((x) ? (void)0 : panic("%s:%d: %s", __FILE__, __LINE__, #x))

/* The same, for a trap that can't be handled. fp, ra: s0 and ra of what it
 * interrupted, where the backtrace goes on; 0: there are none. */
void panic_trap(const char *what, unsigned long sepc, unsigned long scause,
		unsigned long stval, unsigned long fp, unsigned long ra)
    __attribute__((noreturn));
/* The time that the machine was given is over: say where each hart is. */
void limit_reached(void) __attribute__((noreturn));
/* Never returns if another hart ends everything. At each interrupt, at level
 * 5. */
void panic_stop_if_asked(void);

/*
 * symbols.c: names for addresses of kernel text, once /boot/symbols is read;
 * symbol_name gives NULL for what has none.
 */
void symbols_load(void);
const char *symbol_name(unsigned long pc, unsigned long *offset);

#endif
