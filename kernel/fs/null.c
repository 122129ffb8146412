/* /dev/null, /dev/zero and /dev/full. The first two forget whatever is written;
 * full has no room for it. A read of null is at its end at once; the others
 * return as many zeroes as are asked for. */
#include <errno.h>

#include "device.h"
#include "file.h"
#include "uio.h"
#include "vnode.h"

enum { NULL_ID, ZERO_ID, FULL_ID };

static ssize_t
null_read(struct vnode *v, struct file *, struct uio *u)
{
	ssize_t total = 0;

	while (device_id(v) != NULL_ID && u->left > 0) {
		ssize_t r = uio_to(u, zeroes, sizeof(zeroes));

		if (r < 0)
			return total > 0 ? total : r;
		total += r;
	}
	return total;
}

static ssize_t
null_write(struct vnode *v, struct file *, struct uio *u)
{
	return device_id(v) == FULL_ID ? -ENOSPC : (ssize_t)u->left;
}

static const struct devfile files[] = {
    {.name = "null", .id = NULL_ID, .mode = 0666},
    {.name = "zero", .id = ZERO_ID, .mode = 0666},
    {.name = "full", .id = FULL_ID, .mode = 0666},
    {0},
};

const struct device null_device = {
    .files = files,
    .ops.read = null_read,
    .ops.write = null_write,
};
