/*
 * prf's search among its addresses. Only where instructions make the time
 * does the time say how many there were.
 */
#include "prf.h"

#define SAMPLES 20000

/* The time that samples at the last of so many addresses take. */
static uint64_t
time_with(size_t addresses)
{
	static unsigned long table[LARGE];
	int fd = open(PRF, O_RDWR);
	uint64_t start;

	for (size_t i = 0; i < addresses; i++)
		table[i] = i * 8;
	prf_put(fd, table, addresses);
	prf_set(fd, PRF_ON);
	start = now_us();
	ctl(PROFCLOCK, "sample kernel 0 0 0 %#zx %d", 8 * (addresses - 1),
	    SAMPLES);
	start = now_us() - start;
	prf_set(fd, 0);
	CHECK(prf_get(fd, addresses) && prf_sum(addresses) == SAMPLES,
	      "%zu addresses have all samples", addresses);
	close(fd);
	return start;
}

int
main(void)
{
	uint64_t few, many;

	ctl(PROFCLOCK, "hold");
	few = time_with(3);
	many = time_with(LARGE);
	CHECK(many < 10 * few, "PRF-41: a full table costs little more");
	return check_done();
}
