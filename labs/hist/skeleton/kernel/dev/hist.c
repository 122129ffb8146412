/*
 * hist: a histogram of kernel text. See README.md of the lab.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/panic.h"
#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "mm/kmalloc.h"
#include "sched/clock.h"
#include "sched/lock.h"

#include "sample.h"

enum { HISTCTL, HIST };

/* Called with SIE=0 for each sample, on any number of harts at once. */
static void
hist_count(const struct sample *s)
{
	(void)s; /* TODO */
}

struct profiler hist_profiler = {.count = hist_count};

/* At boot, before there is any process. */
static void
hist_init(void)
{
	/* TODO: the counters */
}

static const struct ctlword words[] = {
    /* TODO: start, stop, clear */
    {0},
};

static off_t
hist_size(unsigned int id)
{
	(void)id;
	return 0; /* TODO */
}

static ssize_t
hist_read(struct vnode *v, struct file *, struct uio *u)
{
	(void)v;
	(void)u;
	return 0; /* TODO */
}

static ssize_t
hist_write(struct vnode *, struct file *, struct uio *u)
{
	return ctl_write(u, words);
}

/* Each can be opened for one thing only, so there is one function for it. */
static const struct devfile files[] = {
    {.name = "histctl", .id = HISTCTL, .mode = 0200},
    {.name = "hist", .id = HIST, .mode = 0400},
    {0},
};

const struct device hist_device = {
    .files = files,
    .init = hist_init,
    .ops.read = hist_read,
    .ops.write = hist_write,
    .size = hist_size,
};
