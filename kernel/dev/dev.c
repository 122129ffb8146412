/* The table of devices: two lines here and a file beside this make a device. */
#include "dev.h"

extern const struct device console_device;
extern const struct device kprof_device;
extern const struct device ktest_device;
extern const struct device null_device;
extern const struct device prf_device;
extern const struct device pcs_device;
extern const struct device pcstat_device;
extern const struct device profclock_device;

const struct device *const devices[] = {
    &console_device,   /* console.c: console, tty, hostout, hosterr */
    &null_device,      /* null.c: null, zero */
    &profclock_device, /* profclock.c: profclock */
    &pcs_device,       /* pcs.c: pcs */
    &pcstat_device,    /* pcstat.c: pcstat */
    &kprof_device,     /* kprof.c: kpctl, kpdata */
    &prf_device,       /* prf.c: prf, prf255, prf0, prf1.. */
    &ktest_device,     /* debug/ktest.c: ktest */
    NULL,
};

void
dev_init(void)
{
	for (const struct device *const *d = devices; *d; d++)
		if ((*d)->init)
			(*d)->init();
}

ssize_t
dev_read_text(struct file *f, struct uio *u, const char *text, size_t size)
{
	if (u->offset == 0)
		f->private = (void *)size;
	else if (f->private && size > (size_t)f->private)
		size = (size_t)f->private;
	if (u->offset < 0 || (size_t)u->offset >= size)
		return 0;
	return uio_to(u, text + u->offset, size - u->offset);
}
