/*
 * The serial port: an ns16550a with a FIFO of 16 bytes each way.
 *
 * The console's output goes through a transmit ring. uart_put adds bytes to it,
 * and pump moves as many to the port as it takes at once. If some are left, the
 * port interrupts when its FIFO is empty, and the handler pumps again. Kernel
 * messages are sent by polling, after the contents of the ring.
 *
 * The console takes characters that have come in when the port interrupts.
 * While it has no room it doesn't listen: they stay in the FIFO, and the other
 * end, which sees that it is full, keeps the rest.
 */
#include "uart.h"

#include <stdint.h>

#include "base/layout.h"
#include "base/print.h"
#include "base/riscv.h"
#include "machine/machine.h"
#include "machine/sbi.h"
#include "sched/lock.h"

#include "plic.h"

/* Registers, by their offsets in bytes. */
#define RBR          0 /* read: the character received */
#define THR          0 /* write: the character to send */
#define IER          1 /* which interrupts are enabled: */
#define IER_RECEIVED 0x1
#define IER_SENDABLE 0x2
#define IIR          2   /* read: why it interrupted; reading acknowledges */
#define FCR          2   /* write: */
#define FCR_FIFO     0x1 /* FIFOs on; their contents stay */
#define LCR          3
#define LCR_8BITS    0x3
#define MCR          4
#define MCR_OUT2     0x8 /* connects the interrupt line */
#define LSR          5
#define LSR_RECEIVED 0x1
#define LSR_SENDABLE 0x20 /* the transmit FIFO is empty */
#define LSR_ALL_SENT 0x40 /* and the shift register too */

/*
 * Guards the port's registers (but see uart_get) and the variables from ring to
 * received. The last in the lock order. ring_in and ring_out count the bytes
 * ever added and ever removed: the difference is in the ring.
 */
static struct spinlock uart_lock = SPINLOCK5("uart");
static char ring[UART_RING] GUARDED_BY(uart_lock);
static size_t ring_in GUARDED_BY(uart_lock), ring_out GUARDED_BY(uart_lock);
static uint8_t enabled GUARDED_BY(uart_lock); /* what is in IER */
/* IER's bit while listening, or 0. */
static uint8_t received GUARDED_BY(uart_lock) = IER_RECEIVED;

/* Set by uart_init, before other harts run. */
static void (*on_readable)(void), (*on_writable)(void);

static bool broken_in; /* atomic; set by a panic: print without the lock */

/*
 * A lock orders memory only, and the port's registers are no memory. By these
 * fences one hart's accesses to them end before the next hart's begin (litmus
 * test "port" in docs/locks.md).
 */
static void
port_lock(void) ACQUIRES(&uart_lock)
{
	spin_lock(&uart_lock);
	fence(r, io);
}

static void
port_unlock(void) RELEASES(&uart_lock)
{
	fence(io, w);
	spin_unlock(&uart_lock);
}

static volatile uint8_t *
uart_reg(unsigned int r)
{
	return (volatile uint8_t *)pa_to_va(machine.uart) + r;
}

static void
enable(uint8_t interrupts)
{
	must_hold(&uart_lock);
	if (interrupts != enabled)
		*uart_reg(IER) = enabled = interrupts;
}

/*
 * Move what the port takes out of the ring, and ask for an interrupt if that
 * isn't all. LSR_SENDABLE means that the whole FIFO is empty, so it is looked
 * at once for 16 bytes. An interrupt that was asked for stays so even if all is
 * sent: a writer may sleep until its handler says that there is room.
 */
static void
pump(void)
{
	must_hold(&uart_lock);
	while (ring_out != ring_in && *uart_reg(LSR) & LSR_SENDABLE)
		for (int i = 0; i < UART_FIFO && ring_out != ring_in; i++)
			*uart_reg(THR) = ring[ring_out++ % UART_RING];
	if (ring_out != ring_in)
		enable(received | IER_SENDABLE);
}

static void
send_polled(char c)
{
	if (!machine.uart) {
		sbi_putchar(c);
		return;
	}
	while (!(*uart_reg(LSR) & LSR_SENDABLE))
		;
	*uart_reg(THR) = c;
}

/* Empty the ring by polling. If the interrupt for sending is enabled it stays
 * so: its handler then wakes those who wait for room in the ring. */
static UNGUARDED void
uart_drain(void)
{
	while (ring_out != ring_in)
		send_polled(ring[ring_out++ % UART_RING]);
}

/* Once a panic has broken in, the lock is left as it is: a hart that has been
 * stopped, or this one, may hold it. */
static UNGUARDED void
uart_print(const char *text)
{
	if (!__atomic_load_n(&broken_in, __ATOMIC_RELAXED))
		port_lock();
	uart_drain();
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			send_polled('\r');
		send_polled(*text);
	}
	if (!__atomic_load_n(&broken_in, __ATOMIC_RELAXED))
		port_unlock();
}

static void
uart_break_in(void)
{
	__atomic_store_n(&broken_in, true, __ATOMIC_RELAXED);
}

static void
uart_flush(void)
{
	uart_print("");
	while (machine.uart && !(*uart_reg(LSR) & LSR_ALL_SENT))
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

/*
 * A panic may come at any moment, and then prints what is in the ring. All
 * bytes are stored before ring_in moves, once, and the asm keeps the compiler
 * from changing that order: so it finds all of buf there or none.
 */
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

/* Without uart_lock: nobody else reads RBR, and the caller holds the console's
 * lock. */
bool
uart_get(char *c)
{
	if (!(*uart_reg(LSR) & LSR_RECEIVED))
		return false;
	*c = *uart_reg(RBR);
	return true;
}

/*
 * on_writable and on_readable take the console's lock, which comes before
 * uart_lock in the lock order: so uart_lock is released first. Only here is the
 * interrupt for sending turned off.
 */
static void
uart_interrupt(void)
{
	bool sending;

	port_lock();
	(void)*uart_reg(IIR);
	sending = enabled & IER_SENDABLE;
	pump();
	if (ring_out == ring_in)
		enable(received);
	port_unlock();
	if (sending)
		on_writable();
	on_readable();
}

/* The speed is left as the firmware has set it. */
void
uart_init(void (*readable)(void), void (*writable)(void))
{
	on_readable = readable;
	on_writable = writable;
	port_lock();
	*uart_reg(LCR) = LCR_8BITS;
	*uart_reg(FCR) = FCR_FIFO;
	*uart_reg(MCR) = MCR_OUT2;
	enable(IER_RECEIVED);
	port_unlock();
	plic_register(machine.uart_irq, uart_interrupt);
}

const struct printer uart_printer = {
    .print = uart_print,
    .break_in = uart_break_in,
    .flush = uart_flush,
};
