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

/*
 * The log's lock guards all of it, what was asked for too. SIE=0 while it is
 * held: then the sampler, which takes it, can't come on the hart that has it.
 * A few instructions only; nothing else is taken under it.
 */
unsigned long log_lock(void); /* gives what log_unlock wants */
void log_unlock(unsigned long sstatus);

extern struct DEVPC devpc;

void log_count(const struct sample *s); /* pcs's count: see sample.h */
/* stack.c: make the STACK record of a sample, with room for STACK_MAX; its size
 * in bytes, 0: there is none. */
size_t log_stack(const struct sample *s, struct STKSAMPLE *record);
/* Record what is merged; let what is recorded be read. */
void log_flush(void);

/* With the profiler disarmed. Open: no hits, DEF_BUFNO buffers; false: it is
 * open already. Close: what hasn't been read is thrown away; the account stays,
 * to be looked at. */
bool log_open(pid_t owner);
void log_close(void);
/* So many buffers more, or false: that would be too many. */
bool log_grow(unsigned long more);

/* The first full buffer, NULL: there is none. It stays as and where it is until
 * it's been read. */
const struct LOGBUF *log_first(void);
/* Bytes [from, to) of it have been; when to is its end, it is free again. One
 * reader at a time. */
void log_read(size_t from, size_t to);

/* All there is to say, of one moment. */
struct log_state {
	struct DEVPC devpc;
	struct pcs_stat account;
	unsigned int buffers, full, empty; /* the others are being filled */
};

struct log_state log_state(void);

#endif
