/* The kernel's own messages, on the console. */
#ifndef KERNEL_PRINT_H
#define KERNEL_PRINT_H

#include <stdarg.h>
#include <stddef.h>

#define MESSAGE_MAX 256 /* bytes, with a NUL; what is longer is cut */

/* Print a message, with the formats of lib/printf.c. No other hart's output
 * comes in the middle. In any context, with any lock held but the uart's. */
void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How messages are sent: by a driver, whose room lies above this one. boot_main
 * sets `printer` before anything else. */
struct printer {
	void (*print)(const char *text); /* in any context */
	void (*break_in)(void);          /* print takes no lock from now on */
	void (*flush)(void);             /* wait until all has been sent */
};

extern const struct printer *printer;

#endif
