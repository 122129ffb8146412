/*
 * /dev/maplab, for the tests: its ioctl maps zeroes at an address that they
 * choose. The argument is the address, twice the number of pages, and 1 if they
 * may be written.
 */
#include <errno.h>

#include "base/layout.h"
#include "fs/device.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/page.h"
#include "proc/proc.h"
#include "sched/thread.h"

static int
maplab_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	size_t pages = (arg & (PAGE_SIZE - 1)) >> 1;
	struct region r = {
	    .start = page_round_down(arg),
	    .end = page_round_down(arg) + pages * PAGE_SIZE,
	    .prot = arg & 1 ? PROT_R | PROT_W : PROT_R,
	};

	return cmd == 1 ? aspace_map(current->proc->as, &r) : -ENOTTY;
}

static const struct devfile files[] = {
    {.name = "maplab", .mode = 0600},
    {0},
};

const struct device maplab_device = {
    .files = files,
    .ops.ioctl = maplab_ioctl,
};
