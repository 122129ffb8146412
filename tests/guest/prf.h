/*
 * What the tests of prf share: a table as a read gives it, and the requests.
 * The numbers PRF-1.. are the clauses of docs/conformance.d/prf.md.
 */
#ifndef PRF_TEST_H
#define PRF_TEST_H

#include <sys/ioctl.h>
#include <sys/prf.h>

#include "profiling.h"

#define PRF   "/dev/prf"
#define WORD  sizeof(unsigned long)
#define LARGE 16383 /* addresses that are expected to fit */

static unsigned long got[2 * LARGE + 4]; /* what prf_get read */

static inline int
prf_status(int fd)
{
	int status = -1;

	return ioctl(fd, PRF_GETSTATUS, &status) == 0 ? status : -1;
}

static inline int
prf_size(int fd)
{
	int size = -1;

	return ioctl(fd, PRF_GETSIZE, &size) == 0 ? size : -1;
}

static inline int
prf_set(int fd, int state)
{
	return ioctl(fd, PRF_SETSTATE, state);
}

/* Load n addresses; did all go? */
static inline bool
prf_put(int fd, const unsigned long *address, size_t n)
{
	return write(fd, address, n * WORD) == (ssize_t)(n * WORD);
}

/* Read a table of n addresses into got; was it one? */
static inline bool
prf_get(int fd, size_t n)
{
	return read(fd, got, sizeof(got)) == (ssize_t)((2 * n + 2) * WORD);
}

/* The sum of all counters in got. */
static inline unsigned long
prf_sum(size_t n)
{
	unsigned long sum = 0;

	for (size_t i = n; i < 2 * n + 2; i++)
		sum += got[i];
	return sum;
}

#endif
