/*
 * /dev/pcstat: the state of the sampling device pcs as text, for any number of
 * readers: a name and its values on each line. First what the manual calls the
 * pseudo-registers, then buffers, then the account of <sys/pcs.h>.
 */
#include <stdio.h>

#include "../hart.h"
#include "dev.h"
#include "pcslog.h"

#define TEXT_SIZE 512

/* Into the text. */
#define say(...) (n += snprintf(text + n, sizeof(text) - n, __VA_ARGS__))

static const struct {
	int cmd;
	const char *name;
} kinds[] = {
    {PROF_KERNEL, "kernel"}, {PROF_ALL, "all"},      {PROF_GROUP, "group"},
    {PROF_LIST, "list"},     {PROF_STACK, "stacks"},
};

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
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
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
	say("lost %lu\nunread %lu\nthrown %lu\nskipped %lu\n", a->lost,
	    a->unread, a->thrown, a->skipped);
	return dev_read_text(f, u, text, n);
}

static const struct devfile files[] = {
    {.name = "pcstat", .mode = 0444},
    {0},
};

const struct device pcstat_device = {
    .files = files,
    .ops.read = pcstat_read,
};
