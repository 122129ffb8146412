/* /dev/null and /dev/zero. Both forget whatever is written. A read of null is
 * at its end at once; zero returns as many zeroes as are asked for. */
#include "device.h"
#include "file.h"
#include "uio.h"
#include "vnode.h"

enum { NULL_ID, ZERO_ID };

static ssize_t
null_read(struct vnode *v, struct file *, struct uio *u)
{
	ssize_t total = 0;

	while (device_id(v) == ZERO_ID && u->left > 0) {
		ssize_t r = uio_to(u, zeroes, sizeof(zeroes));

		if (r < 0)
			return total > 0 ? total : r;
		total += r;
	}
	return total;
}

static ssize_t
null_write(struct vnode *, struct file *, struct uio *u)
{
	return u->left;
}

static const struct devfile files[] = {
    {.name = "null", .id = NULL_ID, .mode = 0666},
    {.name = "zero", .id = ZERO_ID, .mode = 0666},
    {0},
};

const struct device null_device = {
    .files = files,
    .ops.read = null_read,
    .ops.write = null_write,
};
