/*
 * The profiler prf for its tools, prfld, prfstat, prfsnap, prfdc and prfpr:
 * the device, and the log of its counters. <sys/prf.h> has what the device
 * gives.
 *
 * A log is words of 8 bytes, the least significant byte first: N; then the N
 * addresses of the table, ascending; then records of N + 3 words. A record is
 * the time, in seconds since 1970, and the device's N + 2 counters as they
 * were then: an address's each, user mode's, idling's.
 */
#ifndef PRFLOG_H
#define PRFLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRF_NAMELIST "/boot/kernel"

/* --- The device: whatever is wrong with it ends the command --- */

extern const char *prf_device; /* /dev/prf, or what -f says */
extern int prf_fd;

/* Take -f DEVICE and so many operands, and open the device. */
void prf_open(int min, int max);

bool prf_enabled(void);
size_t prf_size(void); /* addresses in the table; 0: there is none */
void prf_enable(void); /* needs a table */

/* --- A snapshot, laid out as the beginning of a log --- */

struct snapshot {
	size_t n;        /* addresses */
	uint64_t *words; /* n, the addresses, a record */
};

/* Read the table and its counters. A second time, the addresses must be the
 * same. */
void snapshot_take(struct snapshot *s);

/* Append it to a log, all of it if that is empty, else the record; or end the
 * command, and the log is as it was. */
void snapshot_append(const struct snapshot *s, int fd, const char *name);

/* --- A log --- */

struct prflog {
	size_t n;
	const uint64_t *addresses;
	size_t records;         /* whole ones */
	bool torn;              /* a part of one is behind them */
	const uint64_t *record; /* the first */
	size_t stride;          /* words from one to the next */
};

/* Load a log, of which at least the addresses are there. NULL, or what is
 * wrong; empty after a message. An empty file is one of no addresses. */
const char *prflog_load(struct prflog *log, int fd, const char *name);

#endif
