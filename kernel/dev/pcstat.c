/*
 * /dev/pcstat: the state of the sampling device pcs as text, for any number of
 * readers: a name and its values on each line. First what the manual calls the
 * pseudo-registers, then buffers, then the account of <sys/pcs.h>.
 */
#include <stdio.h>

#include "dev.h"
#include "pcslog.h"

#define TEXT_SIZE 512

struct text {
	char buf[TEXT_SIZE];
	size_t n;
};

#define say(t, ...) \
	((t)->n += snprintf((t)->buf + (t)->n, TEXT_SIZE - (t)->n, __VA_ARGS__))

static const struct {
	int cmd;
	const char *name;
} kinds[] = {
    {PROF_KERNEL, "kernel"}, {PROF_ALL, "all"},      {PROF_GROUP, "group"},
    {PROF_LIST, "list"},     {PROF_STACK, "stacks"},
};

static ssize_t
pcstat_read(struct vnode *, struct file *, struct uio *u)
{
	struct log_state s = log_state();
	const struct DEVPC *d = &s.devpc;
	const struct pcs_stat *a = &s.account;
	struct text t = {.n = 0};

	say(&t, "owner %d\nclock %s\nrequests", d->d_runpid,
	    d->d_clock == NO_CLOCK ? "none" : "kw11k");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (d->d_flag & kinds[i].cmd & PROF_MASK)
			say(&t, " %s", kinds[i].name);
	say(&t, "\ngroup %d\nlist", d->d_group);
	for (int i = 0; i < d->d_list.p_count; i++)
		say(&t, " %d", d->d_list.p_list[i]);
	say(&t, "\nbuffers %u\nfull %u\nfilling %u\nempty %u\n", s.buffers,
	    s.full, s.buffers - s.full - s.empty, s.empty);
	say(&t, "seen %lu\nrecorded %lu\nmerged %lu\npending %lu\n", a->seen,
	    a->recorded, a->merged, a->pending);
	say(&t, "lost %lu\nunread %lu\nthrown %lu\n", a->lost, a->unread,
	    a->thrown);
	return dev_read_buffer(u, t.buf, t.n);
}

static const struct devfile files[] = {
    {.name = "pcstat", .mode = 0444},
    {0},
};

const struct device pcstat_device = {
    .files = files,
    .ops.read = pcstat_read,
};
