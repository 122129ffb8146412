/*
 * What the tests of prf share: a table as a read gives it, and the requests.
 * The numbers PRF-1.. are the clauses of docs/conformance.md.
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

#define ALL HARTS /* of all minors: /dev/prf */

/* Open all minors, each hart's and /dev/prf, and choose n addresses that divide
 * kernel text; how many harts there are. */
static inline unsigned int
prf_open_all(int minor[HARTS + 1], unsigned long *table, size_t n)
{
	struct sysinfo info = system_now();
	char name[40];

	for (unsigned int i = 0; i < info.harts; i++) {
		sprintf(name, "/dev/prf%u", i);
		minor[i] = open(name, O_RDWR);
	}
	minor[ALL] = open(PRF, O_RDWR);
	for (size_t i = 0; i < n; i++)
		table[i] = info.text_start +
			   (info.text_end - info.text_start) / n * i;
	return info.harts;
}

/* Load and turn on all minors, or turn them off. */
static inline void
prf_switch_all(const int minor[HARTS + 1], unsigned int harts,
	       const unsigned long *table, size_t n, int state)
{
	for (unsigned int i = 0; i <= HARTS; i++) {
		if (i >= harts && i != ALL)
			continue;
		if (state == PRF_ON && !prf_put(minor[i], table, n))
			printf("no table: %s\n", strerror(errno));
		prf_set(minor[i], state);
	}
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
