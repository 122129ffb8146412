/*
 * Several processes make samples of one hart at the same time, and another one
 * reads: its log is one, whoever writes to it. Each sample is seen once.
 */
#include "pcs.h"

#define MAKERS 3
#define EACH   4000

static int
make(void)
{
	samples("kernel", 0, 1, 0, KERNEL_PC, EACH);
	return 0;
}

/* The hits of all buffers that are full. */
static unsigned int
read_all(int fd)
{
	struct LOGBUF b;
	unsigned int hits = 0;

	while (buffer_read(fd, &b) > 0)
		for (int i = 0; i < (int)NUMSAMPS; i++)
			hits += hits_in(&b.lb_data[i]);
	return hits;
}

int
main(void)
{
	pid_t maker[MAKERS];
	unsigned int hits = 0;
	struct pcs_stat s;
	int fd, left = MAKERS;

	ctl(PROFCLOCK, "hold");
	fd = pcs_open();
	ioctl(fd, PROF_ALL, NULL);
	for (int i = 0; i < MAKERS; i++)
		maker[i] = child_start(make);
	while (left > 0) {
		hits += read_all(fd);
		for (int i = 0; i < MAKERS; i++)
			if (maker[i] != 0 &&
			    waitpid(maker[i], NULL, WNOHANG) == maker[i]) {
				maker[i] = 0;
				left--;
			}
	}
	hits += read_all(fd);
	s = account_of(fd);
	CHECK(s.seen == MAKERS * EACH, "each is seen once (%llu)",
	      (unsigned long long)s.seen);
	CHECK(adds_up(&s), "and recorded, or lost");
	CHECK(hits + s.unread == s.recorded + s.merged,
	      "what was recorded was read, or can be (%u, %llu of %llu)", hits,
	      (unsigned long long)s.unread, (unsigned long long)s.recorded);
	close(fd);
	ctl(PROFCLOCK, "go");
	return check_done();
}
