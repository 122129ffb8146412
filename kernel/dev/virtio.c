/*
 * Virtio over MMIO: how a driver and a device that QEMU plays share a queue.
 * The names are those of the Virtio 1.1 specification, chapters 2.6 and 4.2.
 *
 * A request is a chain of descriptors, each a piece of memory. The driver puts
 * the chain's first number on the ring of available ones and notifies the
 * device; that works, puts it on the ring of used ones, and interrupts. With
 * one request at a time the chain always begins with descriptor 0. Tally has a
 * use for one such device, which is the only one here.
 */
#include "virtio.h"

#include "../layout.h"
#include "../machine.h"
#include "../print.h"
#include "dev.h"

/* Registers, in bytes. */
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
	QUEUE_DESC = 0x080, /* these three are of 64 bits, low word first */
	QUEUE_DRIVER = 0x090,
	QUEUE_DEVICE = 0x0a0,
};

#define MAGIC_VALUE 0x74726976 /* "virt" */
#define MODERN      2

#define STATUS_ACKNOWLEDGE 1
#define STATUS_DRIVER      2
#define STATUS_DRIVER_OK   4
#define STATUS_FEATURES_OK 8

#define FEATURE_VERSION_1 (UINT64_C(1) << 32)

#define DESC_NEXT  1 /* struct desc's flags */
#define DESC_WRITE 2

struct desc {
	uint64_t address;
	uint32_t size;
	uint16_t flags;
	uint16_t next;
};

static struct {
	_Alignas(16) struct desc desc[VIRTIO_PIECES];
	struct {
		uint16_t flags, idx; /* idx: of the next entry, modulo 2^16 */
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
static uint16_t seen; /* used entries that virtio_done has given */

static volatile uint32_t *
reg(unsigned int offset)
{
	return (volatile uint32_t *)(regs + offset);
}

static void
set_address(unsigned int offset, const void *p)
{
	uint64_t pa = va_to_pa(p);

	*reg(offset) = pa;
	*reg(offset + 4) = pa >> 32;
}

static void
virtio_interrupt(void)
{
	*reg(INTERRUPT_ACK) = *reg(INTERRUPT_STATUS);
	/* Who is woken may be on another hart: it finds the answer, and if it
	 * asks again this doesn't take that one's interrupt. */
	fence(io, w);
	request_done();
}

/* The order of these steps is the specification's. */
static bool
start(void)
{
	*reg(STATUS) = 0; /* reset */
	*reg(STATUS) = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
	for (unsigned int i = 0; i < 2; i++) {
		*reg(DRIVER_FEATURES_SEL) = i;
		*reg(DRIVER_FEATURES) = FEATURE_VERSION_1 >> 32 * i;
	}
	*reg(STATUS) |= STATUS_FEATURES_OK;
	*reg(QUEUE_SEL) = 0;
	if (!(*reg(STATUS) & STATUS_FEATURES_OK) ||
	    *reg(QUEUE_NUM_MAX) < VIRTIO_PIECES)
		return false;
	*reg(QUEUE_NUM) = VIRTIO_PIECES;
	set_address(QUEUE_DESC, queue.desc);
	set_address(QUEUE_DRIVER, &queue.avail);
	set_address(QUEUE_DEVICE, &queue.used);
	*reg(QUEUE_READY) = 1;
	*reg(STATUS) |= STATUS_DRIVER_OK;
	return true;
}

bool
virtio_open(uint32_t id, void (*interrupt)(void))
{
	for (unsigned int i = 0; i < machine.nvirtio; i++) {
		regs = pa_to_va(machine.virtio[i].address);
		if (*reg(MAGIC) != MAGIC_VALUE || *reg(DEVICE_ID) != id)
			continue;
		if (*reg(VERSION) != MODERN || !start()) {
			kprintf("virtio device %u is of an old kind\n", id);
			continue;
		}
		request_done = interrupt;
		plic_register(machine.virtio[i].irq, virtio_interrupt);
		return true;
	}
	return false;
}

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
	/* The device may look as soon as it sees idx. */
	__atomic_store_n(&queue.avail.idx, queue.avail.idx + 1,
			 __ATOMIC_RELEASE);
	/* And it is notified only when it can see all of this. */
	fence(w, o);
	*reg(QUEUE_NOTIFY) = 0;
}

bool
virtio_done(size_t *written)
{
	if (__atomic_load_n(&queue.used.idx, __ATOMIC_ACQUIRE) == seen)
		return false;
	*written = queue.used.ring[seen++ % VIRTIO_PIECES].written;
	return true;
}
