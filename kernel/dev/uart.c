/*
 * The serial port: an ns16550a with its 16-byte FIFOs.
 *
 * The console's output goes through a transmit ring. Whoever adds to the ring
 * moves what the port will take at once; if some is left, the port interrupts
 * when it has room. Kernel messages are polled, and wait for the ring first.
 *
 * The console takes received characters when the port interrupts. While it has
 * no room it doesn't listen: they stay in the FIFO, and the other end, which
 * sees that it is full, keeps the rest.
 */
#include "uart.h"

#include <stdint.h>

#include "../layout.h"
#include "../lock.h"
#include "../machine.h"
#include "dev.h"

/* Registers, by their distance in bytes. */
#define RBR          0 /* read: the character received */
#define THR          0 /* write: the character to send */
#define IER          1 /* interrupts wanted: */
#define IER_RECEIVED 0x1
#define IER_SENDABLE 0x2
#define IIR          2   /* read: why it interrupted; reading acknowledges */
#define FCR          2   /* write: */
#define FCR_FIFO     0x1 /* FIFOs on; what is in them stays */
#define LCR          3
#define LCR_8BITS    0x3
#define MCR          4
#define MCR_OUT2     0x8 /* lets the interrupt line through */
#define LSR          5
#define LSR_RECEIVED 0x1
#define LSR_SENDABLE 0x20 /* the transmit FIFO is empty */
#define LSR_ALL_SENT 0x40 /* and the shift register too */

/* Guards the port and what follows. Last in the lock order. */
static struct spinlock uart_lock = SPINLOCK5("uart");
static char ring[UART_RING];
static size_t ring_in, ring_out;        /* count up for ever; equal: empty */
static uint8_t enabled;                 /* what IER was set to */
static uint8_t received = IER_RECEIVED; /* 0: don't listen */

static bool broken_in; /* set by a panic: the lock counts no more */

/* A lock orders memory only, and the port's registers are none: one hart's
 * accesses to them end before the next one's begin by these fences. */
static void
port_lock(void)
{
	spin_lock(&uart_lock);
	fence(r, io);
}

static void
port_unlock(void)
{
	fence(io, w);
	spin_unlock(&uart_lock);
}

static volatile uint8_t *
reg(unsigned int r)
{
	return (volatile uint8_t *)pa_to_va(machine.uart) + r;
}

static void
enable(uint8_t interrupts)
{
	if (interrupts != enabled)
		*reg(IER) = enabled = interrupts;
}

/* Send what the port takes now; ask for an interrupt if that isn't all. */
static void
pump(void)
{
	while (ring_out != ring_in && *reg(LSR) & LSR_SENDABLE)
		for (int i = 0; i < UART_FIFO && ring_out != ring_in; i++)
			*reg(THR) = ring[ring_out++ % UART_RING];
	enable(received | (ring_out == ring_in ? 0 : IER_SENDABLE));
}

static void
send_polled(char c)
{
	if (!machine.uart) {
		sbi_putchar(c);
		return;
	}
	while (!(*reg(LSR) & LSR_SENDABLE))
		;
	*reg(THR) = c;
}

/* Send the ring's now. The interrupt stays wanted if it was: its handler is
 * to wake those who wait for room. */
static void
drain(void)
{
	while (ring_out != ring_in)
		send_polled(ring[ring_out++ % UART_RING]);
}

/* Once a panic has broken in, the lock is left as it is: a hart that has been
 * stopped may hold it. */
void
uart_print(const char *text)
{
	if (!__atomic_load_n(&broken_in, __ATOMIC_RELAXED))
		port_lock();
	drain();
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			send_polled('\r');
		send_polled(*text);
	}
	if (!__atomic_load_n(&broken_in, __ATOMIC_RELAXED))
		port_unlock();
}

void
uart_break_in(void)
{
	__atomic_store_n(&broken_in, true, __ATOMIC_RELAXED);
}

void
uart_flush(void)
{
	uart_print("");
	while (machine.uart && !(*reg(LSR) & LSR_ALL_SENT))
		;
}

size_t
uart_room(void)
{
	size_t used;

	spin_lock(&uart_lock);
	used = ring_in - ring_out;
	spin_unlock(&uart_lock);
	return UART_RING - used;
}

/* ring_in moves once, so that a panic finds all of buf in the ring or none. */
bool
uart_put(const char *buf, size_t n)
{
	size_t in;
	bool fits;

	port_lock();
	in = ring_in;
	fits = n <= UART_RING - (in - ring_out);
	if (fits) {
		for (const char *end = buf + n; buf < end; buf++)
			ring[in++ % UART_RING] = *buf;
		asm volatile("" ::: "memory");
		ring_in = in;
		pump();
	}
	port_unlock();
	return fits;
}

void
uart_listen(bool on)
{
	port_lock();
	received = on ? IER_RECEIVED : 0;
	enable(received | (enabled & IER_SENDABLE));
	port_unlock();
}

/* Nobody else reads this register. */
bool
uart_get(char *c)
{
	if (!(*reg(LSR) & LSR_RECEIVED))
		return false;
	*c = *reg(RBR);
	return true;
}

static void
uart_interrupt(void)
{
	bool sending;

	port_lock();
	(void)*reg(IIR);
	sending = enabled & IER_SENDABLE;
	pump();
	port_unlock();
	if (sending)
		console_writable();
	console_readable();
}

/* The firmware has set the speed. */
void
uart_init(void)
{
	*reg(LCR) = LCR_8BITS;
	*reg(FCR) = FCR_FIFO;
	*reg(MCR) = MCR_OUT2;
	enable(IER_RECEIVED);
	plic_register(machine.uart_irq, uart_interrupt);
}
