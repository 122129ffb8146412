/*
 * The log of pcs (pcslog.c): what samples become, and where it is kept until
 * it is read.
 */
#ifndef KERNEL_PCSLOG_H
#define KERNEL_PCSLOG_H

#include <stdbool.h>
#include <stddef.h>

#define _KERNEL
#include <sys/pcs.h>

struct sample;
struct uio;

extern struct profiler pcs_profiler; /* pcs.c */

void log_count(const struct sample *s); /* its count: see sample.h */
/* stack.c: make the STACK record of a sample, with room for STACK_MAX; its size
 * in bytes, 0: there is none. */
size_t log_stack(const struct sample *s, struct STKSAMPLE *record);

void log_init(void); /* at boot, when the harts are known */
/* No hits, DEF_BUFNO buffers a hart; false: it is open already. */
bool log_open(pid_t owner);
/* What hasn't been read is thrown away; the account stays, to be looked at. */
void log_close(void);

/* A kind of profiling more, with the group or the list that it's about. From
 * the first one on hits are counted. PROF_STACK says only how. */
void log_ask(unsigned int cmd, pid_t group, const struct pid_list *list);
/* PCS_END: no hits any more; record what is merged, let it all be read. */
void log_end(void);
/* So many buffers more a hart, or false: that would be too many. */
bool log_grow(unsigned long more);

bool log_full(void); /* Is there a full buffer? */
/* Read of those that there are, the first of them first; 0: there is none. */
ssize_t log_read(struct uio *u);

/* All there is to say: of what a hart has, and had, at one moment. The sums of
 * all harts are exact, for each is. */
struct log_state {
	struct DEVPC devpc;
	struct pcs_stat account;
	unsigned int buffers;       /* of each hart */
	unsigned int full, filling; /* of all harts */
};

struct log_state log_state(void);

#endif
