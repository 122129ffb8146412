/*
 * /dev/priority: a process sets its priority by an ioctl; the argument is the
 * priority, as sched/priority.h has them. Its children inherit it.
 */
#include <errno.h>

#include "fs/device.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "sched/lock.h"
#include "sched/priority.h"
#include "sched/thread.h"

static int
priority_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	if (cmd != PRIORITY_SET)
		return -ENOTTY;
	if (arg >= PRIORITIES)
		return -EINVAL;
	spin_lock(&sched_lock);
	current->task->priority = arg;
	spin_unlock(&sched_lock);
	return 0;
}

static const struct devfile files[] = {
    {.name = "priority", .mode = 0666},
    {0},
};

const struct device priority_device = {
    .files = files,
    .stream = true,
    .ops.ioctl = priority_ioctl,
};
