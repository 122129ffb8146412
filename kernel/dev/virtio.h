/* One virtio device of the MMIO kind, modern (version 2), with one queue. */
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

#define VIRTIO_PIECES 4 /* of one request, at most */

/* Bring up the first device of this kind; interrupt is called when a request
 * is done, at level 5. False: there is none, or none that works. At boot. */
bool virtio_open(uint32_t id, void (*interrupt)(void));

/* Hand over a request. There is one at a time, and it is the device's until
 * virtio_done has given true, with how many bytes it wrote. */
void virtio_submit(const struct virtio_piece *piece, unsigned int n);
bool virtio_done(size_t *written);

#endif
