/*
 * The serial port, under the console (console.c) and under kernel messages
 * (print.c). Its lock is the last in the order: nothing else is taken while
 * it is held, so that a message can be printed whatever locks are held.
 */
#ifndef KERNEL_UART_H
#define KERNEL_UART_H

#include <stdbool.h>
#include <stddef.h>

/* A kernel message: polled, in any context, before uart_init too. What the
 * console has in the transmit ring goes first, so that it stays unbroken. */
void uart_print(const char *text);

/* From now on, print without taking the lock: its holder may be stopped. */
void uart_break_in(void);

/* Wait until all that was written has left. */
void uart_flush(void);

/*
 * The console's output, under its lock. uart_put adds n bytes to the transmit
 * ring, or none: false, there is no room. uart_room says how many it can take,
 * all of UART_RING when everything has gone out; when there is more again,
 * console_writable will be called.
 */
#define UART_RING 2048

size_t uart_room(void);
bool uart_put(const char *buf, size_t n);

/*
 * The console's input, under its lock. uart_get takes a character that has
 * come in; false: there is none. uart_listen says whether those that come are
 * to interrupt; one that waits will do so at once.
 */
#define UART_FIFO 16 /* characters that the port keeps */

bool uart_get(char *c);
void uart_listen(bool on);

/* The console's, called by the port's interrupt handler: characters may have
 * come; the transmit ring has room again. */
void console_readable(void);
void console_writable(void);

#endif
