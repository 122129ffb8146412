/* Messages of the kernel's own, on the console; and the end of everything. */
#ifndef KERNEL_PRINT_H
#define KERNEL_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * %d %i %u %x %o %c %s %p %%, with l, ll and z, width, 0, - and precision
 * for strings, as in printf. kprintf prints a whole call's text unbroken by
 * another hart's.
 */
void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int ksnprintf(char *buf, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Say why, where and how it came to this, stop every hart, power off. */
void panic(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#define assert(x) ((x) ? (void)0 : panic("%s:%d: %s", __FILE__, __LINE__, #x))

/* symbols.c: names for addresses of kernel text, once /boot/kernel is read. */
const char *symbol_name(unsigned long pc, unsigned long *offset);

#endif
