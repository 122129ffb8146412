/*
 * The serial port, for the console (tty/console.c) and for kernel messages
 * (base/print.c). Its lock is the last in the lock order, so a message can be
 * printed whatever other locks are held.
 */
#ifndef KERNEL_UART_H
#define KERNEL_UART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"

/* For kernel messages: sends by polling, in any context, before uart_init too.
 * The ring goes first: no message comes in the middle of one uart_put. */
extern const struct printer uart_printer;

/*
 * The console's output; the caller holds the console's lock. uart_put adds n
 * bytes to the transmit ring, all or none; false: there is no room for all.
 * uart_room returns how many bytes the ring can take: UART_RING if it is empty.
 */
#define UART_RING 2048

size_t uart_room(void);
bool uart_put(const char *buf, size_t n);

/*
 * The console's input; the caller holds the console's lock. uart_get stores a
 * character that has come in; false: there is none. uart_listen says whether
 * such characters cause an interrupt. One that is waiting then does so at once.
 */
#define UART_FIFO 16 /* characters that the port can keep, each way */

bool uart_get(char *c);
void uart_listen(bool on);

/* Set the port up, at boot. The handler calls these at level 5, with no lock
 * held: when characters may have come in, when the ring has room. */
void uart_init(void (*readable)(void), void (*writable)(void));

#endif
