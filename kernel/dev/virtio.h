/* Virtio devices of the MMIO kind, modern (version 2), with one queue. */
#ifndef KERNEL_VIRTIO_H
#define KERNEL_VIRTIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIRTIO_ID_9P 9

/* A piece of a request: memory in one row that the device reads or writes. */
struct virtio_piece {
	void *base;
	size_t size;
	bool device_writes; /* such pieces come after all others */
};

#define VIRTIO_PIECES 32 /* of one request */

/* Bring up the first device of this kind; interrupt is called when a request
 * is done, at level 5. NULL: there is none, or none that works. At boot. */
struct virtio *virtio_open(uint32_t id, void (*interrupt)(void));
/* The device's own registers. */
volatile void *virtio_config(struct virtio *d);

/* Hand over a request. There is one at a time, and it is the device's until
 * virtio_done has given true, with how many bytes it wrote. */
void virtio_submit(struct virtio *d, const struct virtio_piece *piece,
		   unsigned int n);
bool virtio_done(struct virtio *d, size_t *written);

#endif
