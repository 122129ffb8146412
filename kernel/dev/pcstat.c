/*
 * /dev/pcstat shows the state of the sampling device pcs as text. Any number of
 * processes may read it, whether pcs is open or not. Each line has a name and
 * its values. First come what the manual calls the pseudo-registers (struct
 * DEVPC), then the buffers, then the account (struct pcs_stat in <sys/pcs.h>).
 */
#include <stdio.h>

#include "base/compiler.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "sched/hart.h"

#include "pcslog.h"

#define TEXT_SIZE 512 /* the longest text has less than 400 bytes */

/* Append to the local array `text', of which n bytes are in use. */
#define say(...) (n += snprintf(text + n, sizeof(text) - n, __VA_ARGS__))

/* The requests that d_flag can have, in the order in which they are shown. */
static const struct {
	int cmd;
	const char *name;
} kinds[] = {
    {PROF_KERNEL, "kernel"}, {PROF_ALL, "all"},      {PROF_GROUP, "group"},
    {PROF_LIST, "list"},     {PROF_STACK, "stacks"}, {PROF_EVENTS, "events"},
    {PROF_SEAL, "seal"},
};

/*
 * Each read makes the whole text anew from the current state, even if the
 * reader wants only a part of it. device_read_text returns that part.
 */
static ssize_t
pcstat_read(struct vnode *, struct file *f, struct uio *u)
{
	struct log_state s = log_state();
	const struct DEVPC *d = &s.devpc;
	const struct pcs_stat *a = &s.account;
	char text[TEXT_SIZE];
	size_t n = 0;

	say("owner %d\nclock %s\nrequests", d->d_runpid,
	    d->d_clock == NO_CLOCK ? "none" : "kw11k");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (d->d_flag & kinds[i].cmd & PROF_MASK)
			say(" %s", kinds[i].name);
	say("\ngroup %d\nlist", d->d_group);
	for (int i = 0; i < d->d_list.p_count; i++)
		say(" %d", d->d_list.p_list[i]);
	say("\nbuffers %u\nharts %u\nfull %u\nfilling %u\nempty %u\n",
	    s.buffers, nharts, s.full, s.filling,
	    nharts * s.buffers - s.full - s.filling);
	say("seen %lu\nrecorded %lu\nmerged %lu\npending %lu\n", a->seen,
	    a->recorded, a->merged, a->pending);
	say("lost %lu\nunread %lu\nthrown %lu\nskipped %lu\nuntold %lu\n",
	    a->lost, a->unread, a->thrown, a->skipped, a->untold);
	return device_read_text(f, u, text, n);
}

static const struct devfile files[] = {
    {.name = "pcstat", .mode = 0444},
    {0},
};

const struct device pcstat_device = {
    .files = files,
    .ops.read = pcstat_read,
};
