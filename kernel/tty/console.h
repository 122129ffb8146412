/* The console: what the serial port's interrupt handler calls when characters
 * may have come in, and when there is room for output again. */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

void console_readable(void);
void console_writable(void);

#endif
