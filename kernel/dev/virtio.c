/*
 * Virtio over MMIO: how a driver and a device that QEMU plays share a queue.
 * The names are those of the Virtio 1.1 specification, chapters 2.6 and 4.2.
 *
 * A request is a chain of descriptors, each a piece of memory. The driver puts
 * the chain's first number on the ring of available ones and notifies the
 * device; that works, puts it on the ring of used ones, and interrupts. With
 * one request at a time the chain always begins with descriptor 0.
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
	CONFIG = 0x100,
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

struct queue {
	struct desc desc[VIRTIO_PIECES];
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
};

struct virtio {
	volatile uint8_t *regs;
	void (*interrupt)(void);
	uint16_t seen; /* used entries that virtio_done has given */
	_Alignas(16) struct queue queue;
};

static struct virtio device; /* the only one that Tally uses */

static volatile uint32_t *
reg(const struct virtio *d, unsigned int offset)
{
	return (volatile uint32_t *)(d->regs + offset);
}

static void
set_address(struct virtio *d, unsigned int offset, const void *p)
{
	uint64_t pa = va_to_pa(p);

	*reg(d, offset) = pa;
	*reg(d, offset + 4) = pa >> 32;
}

static void
virtio_interrupt(void)
{
	*reg(&device, INTERRUPT_ACK) = *reg(&device, INTERRUPT_STATUS);
	device.interrupt();
}

/* The order of these steps is the specification's. */
static bool
start(struct virtio *d)
{
	*reg(d, STATUS) = 0; /* reset */
	*reg(d, STATUS) = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
	for (unsigned int i = 0; i < 2; i++) {
		*reg(d, DRIVER_FEATURES_SEL) = i;
		*reg(d, DRIVER_FEATURES) = FEATURE_VERSION_1 >> 32 * i;
	}
	*reg(d, STATUS) |= STATUS_FEATURES_OK;
	*reg(d, QUEUE_SEL) = 0;
	if (!(*reg(d, STATUS) & STATUS_FEATURES_OK) ||
	    *reg(d, QUEUE_NUM_MAX) < VIRTIO_PIECES)
		return false;
	*reg(d, QUEUE_NUM) = VIRTIO_PIECES;
	set_address(d, QUEUE_DESC, d->queue.desc);
	set_address(d, QUEUE_DRIVER, &d->queue.avail);
	set_address(d, QUEUE_DEVICE, &d->queue.used);
	*reg(d, QUEUE_READY) = 1;
	*reg(d, STATUS) |= STATUS_DRIVER_OK;
	return true;
}

struct virtio *
virtio_open(uint32_t id, void (*interrupt)(void))
{
	for (unsigned int i = 0; i < machine.nvirtio; i++) {
		device.regs = pa_to_va(machine.virtio[i].address);
		if (*reg(&device, MAGIC) != MAGIC_VALUE ||
		    *reg(&device, DEVICE_ID) != id)
			continue;
		if (*reg(&device, VERSION) != MODERN || !start(&device)) {
			kprintf("virtio device %u is of an old kind\n", id);
			continue;
		}
		device.interrupt = interrupt;
		plic_register(machine.virtio[i].irq, virtio_interrupt);
		return &device;
	}
	return NULL;
}

volatile void *
virtio_config(struct virtio *d)
{
	return d->regs + CONFIG;
}

void
virtio_submit(struct virtio *d, const struct virtio_piece *piece,
	      unsigned int n)
{
	struct queue *q = &d->queue;

	for (unsigned int i = 0; i < n; i++)
		q->desc[i] = (struct desc){
		    .address = va_to_pa(piece[i].base),
		    .size = piece[i].size,
		    .flags = (i + 1 < n ? DESC_NEXT : 0) |
			     (piece[i].device_writes ? DESC_WRITE : 0),
		    .next = i + 1,
		};
	q->avail.ring[q->avail.idx % VIRTIO_PIECES] = 0;
	/* The device may look as soon as it sees idx. */
	__atomic_store_n(&q->avail.idx, q->avail.idx + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	asm volatile("fence iorw, iorw" ::: "memory");
	*reg(d, QUEUE_NOTIFY) = 0;
}

bool
virtio_done(struct virtio *d, size_t *written)
{
	struct queue *q = &d->queue;

	if (__atomic_load_n(&q->used.idx, __ATOMIC_ACQUIRE) == d->seen)
		return false;
	*written = q->used.ring[d->seen++ % VIRTIO_PIECES].written;
	return true;
}
