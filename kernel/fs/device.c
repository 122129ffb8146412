/* What all devices have in common: see device.h. */
#include "device.h"

#include "file.h"
#include "uio.h"

const struct device *const *devices;

void
devices_init(void)
{
	for (const struct device *const *d = devices; *d; d++)
		if ((*d)->init)
			(*d)->init();
}

/* f->private is that size, cast; NULL as long as nobody has read the start. */
ssize_t
device_read_text(struct file *f, struct uio *u, const char *text, size_t size)
{
	if (u->offset == 0)
		f->private = (void *)size;
	else if (f->private && size > (size_t)f->private)
		size = (size_t)f->private;
	if (u->offset < 0 || (size_t)u->offset >= size)
		return 0;
	return uio_to(u, text + u->offset, size - u->offset);
}
