/* What is left of a time limit, once a call that waits has come back. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "promise.h"

static int full[2]; /* a pipe that can be read */

static void
rung(int sig)
{
	(void)sig;
}

static void
ring_soon(void)
{
	struct itimerval soon = {.it_value.tv_usec = 20000};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void
test_select(void)
{
	struct timeval limit = {0, 20000};
	fd_set set;
	int n = 0, r;

	printf("%d\n", select(0, NULL, NULL, NULL, &limit));
	printf("after the time: %ld\n", (long)limit.tv_usec);
	FD_ZERO(&set);
	FD_SET(full[0], &set);
	limit.tv_sec = 50;
	printf("%d\n", select(full[0] + 1, &set, NULL, NULL, &limit));
	printf("at once: %ld\n", (long)limit.tv_sec);
	limit = (struct timeval){50, 0};
	ring_soon();
	r = select(0, NULL, NULL, NULL, &limit);
	printf("%d %d\n", r, errno == EINTR);
	printf("a signal came: %ld\n", (long)limit.tv_sec);
	limit = (struct timeval){0, 50000};
	for (; (limit.tv_sec || limit.tv_usec) && n < 5; n++)
		select(0, NULL, NULL, NULL, &limit);
	printf("until the time is over: %d\n", n);
	limit = (struct timeval){-1, 0};
	r = select(0, NULL, NULL, NULL, &limit);
	printf("%d %d %ld\n", r, errno == EINVAL, (long)limit.tv_sec);
}

static long
kernel_ppoll(struct pollfd *fds, int n, struct timespec *limit)
{
	return syscall(SYS_ppoll, fds, n, limit, NULL, 8);
}

static void
test_ppoll(void)
{
	static const struct timespec constant = {0, 1000};
	struct pollfd f = {.fd = full[0], .events = POLLIN};
	struct timespec limit = {0, 20000000};
	long r;

	printf("%ld\n", kernel_ppoll(NULL, 0, &limit));
	printf("after the time: %ld\n", limit.tv_nsec);
	limit.tv_sec = 50;
	printf("%ld\n", kernel_ppoll(&f, 1, &limit));
	printf("at once: %ld\n", (long)limit.tv_sec);
	limit = (struct timespec){50, 0};
	ring_soon();
	r = kernel_ppoll(NULL, 0, &limit);
	printf("%ld %d\n", r, errno == EINTR);
	printf("a signal came: %ld\n", (long)limit.tv_sec);
	printf("%ld\n", kernel_ppoll(NULL, 0, (struct timespec *)&constant));
	printf("what can't be written: %ld\n", constant.tv_nsec);
	limit = (struct timespec){50, 0};
	r = ppoll(&f, 1, &limit, NULL);
	printf("%ld %ld\n", r, (long)limit.tv_sec);
	r = pselect(0, NULL, NULL, NULL, &constant, NULL);
	printf("%ld %ld\n", r, constant.tv_nsec);
}

int
main(void)
{
	struct sigaction act = {.sa_handler = rung};

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGALRM, &act, NULL);
	pipe(full);
	write(full[1], "x", 1);
	PROMISE("select(2): the limit becomes the time that is left");
	test_select();
	PROMISE("ppoll(2): the system call does that, the C library's doesn't");
	test_ppoll();
	return 0;
}
