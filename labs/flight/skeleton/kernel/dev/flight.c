/*
 * flight: the latest samples, as a flight recorder keeps them. See README.md of
 * the lab.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/riscv.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "sched/clock.h"
#include "sched/lock.h"

#include "flight.h"
#include "sample.h"

/* Called with SIE=0 for each sample, on any number of harts at once. */
static void
flight_count(const struct sample *s)
{
	(void)s; /* TODO */
}

/* Called later, at level 5, if flight_count has called sample_defer. */
static void
flight_deferred(void)
{
	/* TODO */
}

struct profiler flight_profiler = {
    .count = flight_count,
    .deferred = flight_deferred,
};

static int
flight_open(struct vnode *, struct file *)
{
	return 0; /* TODO */
}

static void
flight_close(struct vnode *, struct file *)
{
	/* TODO */
}

static ssize_t
flight_read(struct vnode *, struct file *f, struct uio *u)
{
	(void)f;
	(void)u;
	return -ENOSYS; /* TODO */
}

static unsigned int
flight_poll(struct vnode *, struct file *)
{
	return 0; /* TODO */
}

static int
flight_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t)
{
	(void)cmd;
	return -ENOTTY; /* TODO */
}

static const struct devfile files[] = {
    {.name = "flight", .mode = 0400},
    {0},
};

const struct device flight_device = {
    .files = files,
    .stream = true,
    .ops.open = flight_open,
    .ops.close = flight_close,
    .ops.read = flight_read,
    .ops.poll = flight_poll,
    .ops.ioctl = flight_ioctl,
};
