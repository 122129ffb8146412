/*
 * A virtio device on MMIO, of the modern kind (version 2), with one queue.
 * Tally uses only one such device, by which fs/p9.c gets the host's files. The
 * caller sees to it that there is one request at a time.
 */
#ifndef KERNEL_VIRTIO_H
#define KERNEL_VIRTIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIRTIO_ID_9P 9

/* A piece of a request: bytes that the device reads or writes. They must be
 * consecutive in physical memory, and in the direct map. */
struct virtio_piece {
	void *base;
	size_t size;
	bool device_writes; /* such pieces come after all others */
};

#define VIRTIO_PIECES 4 /* of one request, at most; a power of 2 */

/* Set up, at boot, the first device with this id that works; false: there is
 * none. When a request is done, interrupt is called at level 5, on any hart. */
bool virtio_open(uint32_t id, void (*interrupt)(void));

/*
 * Hand a request of n pieces to the device. Its memory belongs to the device
 * until virtio_done has returned true, once for each request. *written is then
 * how many bytes the device says that it wrote.
 */
void virtio_submit(const struct virtio_piece *piece, unsigned int n);
bool virtio_done(size_t *written);

#endif
