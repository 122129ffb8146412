/*
 * Virtio over MMIO: how a driver and a device, which QEMU implements, share a
 * queue. The names are those of the Virtio 1.1 specification, chapters 2.6 and
 * 4.2. A queue is three arrays in memory:
 *
 *	desc	descriptors of pieces of memory; a request is a chain of them
 *	avail	a ring of requests for the device, written by the driver
 *	used	a ring of requests that are done, written by the device
 *
 * A ring's entry says with which descriptor a request begins, and its idx
 * counts the entries ever added, modulo 2^16. A request goes like this:
 *
 *	driver				device
 *	fill in desc
 *	avail.ring[] = 0; avail.idx++
 *	write to QUEUE_NOTIFY
 *					read avail and desc; do the work
 *					used.ring[] = 0, size; used.idx++
 *					interrupt
 *	see that used.idx has changed
 *
 * With one request at a time its chain always begins with descriptor 0. Each
 * idx is stored after what it counts, and loaded before that; docs/locks.md has
 * the litmus tests: submit, answer and acknowledge. Read virtio_submit first.
 */
#include "virtio.h"

#include "base/layout.h"
#include "base/print.h"
#include "base/riscv.h"
#include "machine/machine.h"

#include "plic.h"

/* Registers, by their offsets in bytes. */
enum {
	MAGIC = 0x000,
	VERSION = 0x004,
	DEVICE_ID = 0x008,
	DRIVER_FEATURES = 0x020,
	DRIVER_FEATURES_SEL = 0x024,
	QUEUE_SEL = 0x030,
	QUEUE_NUM_MAX = 0x034,
	QUEUE_NUM = 0x038,
	QUEUE_READY = 0x044,
	QUEUE_NOTIFY = 0x050,
	INTERRUPT_STATUS = 0x060,
	INTERRUPT_ACK = 0x064,
	STATUS = 0x070,
	QUEUE_DESC = 0x080, /* these three have 64 bits, low word first */
	QUEUE_DRIVER = 0x090,
	QUEUE_DEVICE = 0x0a0,
};

#define MAGIC_VALUE 0x74726976 /* "virt" */
#define MODERN      2 /* of VERSION; 1 is an older, different interface */

#define STATUS_ACKNOWLEDGE 1
#define STATUS_DRIVER      2
#define STATUS_DRIVER_OK   4
#define STATUS_FEATURES_OK 8

/* The only feature that is asked for: the specification's version 1.0 or on. */
#define FEATURE_VERSION_1 (UINT64_C(1) << 32)

#define DESC_NEXT  1 /* `next' is the index of the next piece */
#define DESC_WRITE 2 /* the device writes to it; otherwise it reads */

struct desc {
	uint64_t address;
	uint32_t size;
	uint16_t flags;
	uint16_t next;
};

/* The layouts and alignments are the specification's. avail.flags = 0 asks for
 * interrupts. The _event fields belong to a feature that isn't used. */
static struct {
	_Alignas(16) struct desc desc[VIRTIO_PIECES];
	struct {
		uint16_t flags, idx; /* of the next entry, modulo 2^16 */
		uint16_t ring[VIRTIO_PIECES];
		uint16_t used_event;
	} avail;
	_Alignas(4) struct {
		uint16_t flags, idx;
		struct {
			uint32_t id, written;
		} ring[VIRTIO_PIECES];
		uint16_t avail_event;
	} used;
} queue;

static volatile uint8_t *regs;
static void (*request_done)(void);
static uint16_t seen; /* used.idx when virtio_done last returned true */

static volatile uint32_t *
virtio_reg(unsigned int offset)
{
	return (volatile uint32_t *)(regs + offset);
}

/* The device is told physical addresses: it knows nothing of the MMU. */
static void
set_address(unsigned int offset, const void *p)
{
	uint64_t pa = va_to_pa(p);

	*virtio_reg(offset) = pa;
	*virtio_reg(offset + 4) = pa >> 32;
}

/* Acknowledge before request_done: whoever that wakes may submit a request at
 * once, on another hart. A later acknowledgement could undo its interrupt. */
static void
virtio_interrupt(void)
{
	*virtio_reg(INTERRUPT_ACK) = *virtio_reg(INTERRUPT_STATUS);
	/* One is a store to the device, the other to memory: only this keeps
	 * the two in order. */
	fence(io, w);
	request_done();
}

/* Initialize the device at regs, in the order that the specification wants;
 * false: it lacks something. */
static bool
start(void)
{
	*virtio_reg(STATUS) = 0; /* reset */
	*virtio_reg(STATUS) = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
	for (unsigned int i = 0; i < 2; i++) {
		*virtio_reg(DRIVER_FEATURES_SEL) = i;
		*virtio_reg(DRIVER_FEATURES) = FEATURE_VERSION_1 >> 32 * i;
	}
	*virtio_reg(STATUS) |= STATUS_FEATURES_OK;
	*virtio_reg(QUEUE_SEL) = 0;
	if (!(*virtio_reg(STATUS) & STATUS_FEATURES_OK) ||
	    *virtio_reg(QUEUE_NUM_MAX) < VIRTIO_PIECES)
		return false;
	*virtio_reg(QUEUE_NUM) = VIRTIO_PIECES;
	set_address(QUEUE_DESC, queue.desc);
	set_address(QUEUE_DRIVER, &queue.avail);
	set_address(QUEUE_DEVICE, &queue.used);
	*virtio_reg(QUEUE_READY) = 1;
	*virtio_reg(STATUS) |= STATUS_DRIVER_OK;
	return true;
}

/* The machine has slots for devices (found_virtio). An empty slot has the magic
 * number, but device id 0. */
bool
virtio_open(uint32_t id, void (*interrupt)(void))
{
	for (unsigned int i = 0; i < machine.nvirtio; i++) {
		regs = pa_to_va(machine.virtio[i].address);
		if (*virtio_reg(MAGIC) != MAGIC_VALUE ||
		    *virtio_reg(DEVICE_ID) != id)
			continue;
		if (*virtio_reg(VERSION) != MODERN || !start()) {
			kprintf("virtio device %u: not used, as it has no "
				"modern interface\n",
				id);
			continue;
		}
		request_done = interrupt;
		plic_register(machine.virtio[i].irq, virtio_interrupt);
		return true;
	}
	return false;
}

/*
 * For example, to read a file takes a request, an answer, and room for data:
 *
 *	desc[0]	request		NEXT		next 1
 *	desc[1]	answer		NEXT, WRITE	next 2
 *	desc[2]	data		WRITE
 */
void
virtio_submit(const struct virtio_piece *piece, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		queue.desc[i] = (struct desc){
		    .address = va_to_pa(piece[i].base),
		    .size = piece[i].size,
		    .flags = (i + 1 < n ? DESC_NEXT : 0) |
			     (piece[i].device_writes ? DESC_WRITE : 0),
		    .next = i + 1,
		};
	queue.avail.ring[queue.avail.idx % VIRTIO_PIECES] = 0;
	/* The device may look as soon as it sees the new idx, even before it is
	 * notified. So all stores above come first. */
	__atomic_store_n(&queue.avail.idx, queue.avail.idx + 1,
			 __ATOMIC_RELEASE);
	/* When it is notified it must see the new idx. A release doesn't order
	 * that, as QUEUE_NOTIFY isn't memory. (0 is the queue.) */
	fence(w, o);
	*virtio_reg(QUEUE_NOTIFY) = 0;
}

/* The device stores the answer and the ring's entry before idx. The acquire
 * loads idx before them: so after true, the answer is there. */
bool
virtio_done(size_t *written)
{
	if (__atomic_load_n(&queue.used.idx, __ATOMIC_ACQUIRE) == seen)
		return false;
	*written = queue.used.ring[seen++ % VIRTIO_PIECES].written;
	return true;
}
