/* select and poll: what is ready, and waiting for it. */
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

#include "helpers.h"

#define CAPACITY  65536 /* bytes a pipe holds */
#define ATOMIC    4096  /* as much room makes one ready */
#define PIPES     24
#define ROUNDS    300
#define MS_PER_S  1000
#define NS_PER_MS 1000000

static char buf[CAPACITY];
static int fds[2];

/* The system calls: the library copies a time first, as they change it. */
int __ppoll(struct pollfd *fds, nfds_t n, struct timespec *limit,
	    const sigset_t *mask, size_t size);
int __pselect6(int n, fd_set *r, fd_set *w, fd_set *x, struct timespec *limit,
	       const void *mask);

static void
pipe_open(int end[2])
{
	if (pipe(end) < 0)
		printf("no pipe: %s\n", strerror(errno));
}

static void
pipe_close(int end[2])
{
	close(end[0]);
	close(end[1]);
}

/* What poll says of one descriptor right now. */
static int
ready(int fd, int events)
{
	struct pollfd p = {.fd = fd, .events = events, .revents = -1};
	int n = poll(&p, 1, 0);

	return n == (p.revents != 0) ? p.revents : -1;
}

/* And select: R and W, if it can be read and written. */
enum { R = 1, W = 2 };

static int
selected(int fd)
{
	struct timeval none = {0};
	fd_set r, w, x;
	int n;

	FD_ZERO(&r);
	FD_SET(fd, &r);
	w = x = r;
	n = select(fd + 1, &r, &w, &x, &none);
	if (n != FD_ISSET(fd, &r) + FD_ISSET(fd, &w) || FD_ISSET(fd, &x))
		return -1;
	return (FD_ISSET(fd, &r) ? R : 0) | (FD_ISSET(fd, &w) ? W : 0);
}

static long
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * MS_PER_S + t.tv_nsec / NS_PER_MS;
}

static void
test_files(void)
{
	int f, d = open(".", O_RDONLY), null = open("/dev/null", O_RDWR);
	int con = open("/dev/console", O_RDWR);

	file_make("f", "");
	f = open("f", O_RDWR);
	CHECK(ready(f, POLLIN | POLLOUT) == (POLLIN | POLLOUT) &&
		  selected(f) == (R | W),
	      "a file is always ready");
	CHECK(selected(d) == (R | W), "so is a directory");
	CHECK(selected(null) == (R | W), "and /dev/null");
	CHECK(ready(f, POLLIN) == POLLIN && ready(f, POLLOUT) == POLLOUT,
	      "poll tells what was asked");
	CHECK(ready(f, 0) == 0, "and nothing if nothing was");
	CHECK(ready(con, POLLIN | POLLOUT) == POLLOUT && selected(con) == W,
	      "the console can be written, but no one has typed");
	close(f);
	close(d);
	close(null);
	close(con);
	unlink("f");
}

static void
test_pipes(void)
{
	pipe_open(fds);
	CHECK(ready(fds[0], POLLIN) == 0 && selected(fds[0]) == 0,
	      "an empty pipe has nothing to read");
	CHECK(ready(fds[1], POLLOUT) == POLLOUT && selected(fds[1]) == W,
	      "but can be written");
	write(fds[1], "x", 1);
	CHECK(ready(fds[0], POLLIN) == POLLIN && selected(fds[0]) == R,
	      "one byte can be read");
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	write(fds[1], buf, CAPACITY - 1);
	CHECK(ready(fds[1], POLLOUT) == 0 && selected(fds[1]) == 0,
	      "a full pipe can't be written");
	read(fds[0], buf, ATOMIC - 1);
	CHECK(ready(fds[1], POLLOUT) == 0, "nor one without PIPE_BUF's room");
	read(fds[0], buf, 1);
	CHECK(ready(fds[1], POLLOUT) == POLLOUT, "but then it can");
	CHECK(write(fds[1], buf, ATOMIC) == ATOMIC, "as it does");
	pipe_close(fds);
}

static void
test_hang_up(void)
{
	pipe_open(fds);
	write(fds[1], "x", 1);
	close(fds[1]);
	CHECK(ready(fds[0], POLLIN) == (POLLIN | POLLHUP),
	      "POLLHUP when no one writes, and the rest can be read");
	read(fds[0], buf, 1);
	CHECK(ready(fds[0], POLLIN) == POLLHUP, "then POLLHUP alone");
	CHECK(ready(fds[0], 0) == POLLHUP, "which needs no asking");
	CHECK(selected(fds[0]) == R, "to select the end can be read");
	close(fds[0]);
	pipe_open(fds);
	close(fds[0]);
	CHECK(ready(fds[1], 0) == POLLERR, "POLLERR when no one reads");
	CHECK(selected(fds[1]) & W, "to select that can be written");
	close(fds[1]);
}

static void
test_poll_arguments(void)
{
	struct pollfd p[65] = {
	    {.fd = -1, .events = POLLIN, .revents = -1},
	    {.fd = 63, .events = POLLIN, .revents = -1},
	    {.fd = 9999, .events = 0, .revents = -1},
	};

	CHECK(poll(p, 3, -1) == 2 && p[1].revents == POLLNVAL &&
		  p[2].revents == POLLNVAL,
	      "closed ones are POLLNVAL, at once");
	CHECK(p[0].revents == 0, "negative ones are left out");
	for (int i = 3; i < 65; i++)
		p[i].fd = -1;
	CHECK(poll(p, 64, 0) == 2, "as many as there is room for at once");
	CHECK(poll(p, 65, 0) == 2, "one more");
	CHECK_ERRNO(poll(p, 1025, 0), EINVAL, "more than one can have open");
	CHECK_FAULTS_IN("poll", poll(bad, 1, 0));
	CHECK_ERRNO(poll((struct pollfd *)memory_end() - 1, 2, 0), EFAULT,
		    "poll of a list that goes on past the heap");
	CHECK(poll(NULL, 0, 0) == 0, "none at all need no list");
}

static void
test_select_arguments(void)
{
	const struct timespec none = {0};
	struct timeval t = {0};
	fd_set set, other;

	FD_ZERO(&set);
	FD_SET(0, &set);
	FD_SET(60, &set);
	other = set;
	CHECK_ERRNO(select(61, &set, NULL, NULL, &t), EBADF, "a closed one");
	CHECK_ERRNO(select(61, NULL, NULL, &set, &t), EBADF, "in any set");
	CHECK(memcmp(&set, &other, sizeof(set)) == 0, "which leaves the set");
	FD_CLR(0, &set);
	CHECK(select(60, &set, NULL, NULL, &t) == 0 && !FD_ISSET(60, &set),
	      "those from n on don't count");
	CHECK_ERRNO(select(-1, &set, NULL, NULL, &t), EINVAL, "n of -1");
	CHECK(select(2 * FD_SETSIZE, &set, NULL, NULL, &t) == 0,
	      "there are never more than a set has");
	t.tv_sec = -1;
	CHECK_ERRNO(select(1, NULL, NULL, NULL, &t), EINVAL, "-1 seconds");
	t = (struct timeval){.tv_usec = -1};
	CHECK_ERRNO(select(1, NULL, NULL, NULL, &t), EINVAL, "-1 us");
	t = (struct timeval){.tv_usec = 1000000};
	CHECK_ERRNO(select(1, NULL, NULL, NULL, &t), EINVAL, "too many us");
	t = (struct timeval){0};
	for (const struct bad_address *b = bad_addresses + 2; b->name; b++) {
		void *bad = b->address;

		CHECK_ERRNO(select(1, bad, NULL, NULL, &t), EFAULT,
			    "select: a %s set is EFAULT", b->name);
		CHECK_ERRNO(select(1, NULL, NULL, bad, &t), EFAULT,
			    "select: a %s third set is EFAULT", b->name);
		CHECK_ERRNO(__pselect6(1, NULL, NULL, NULL, bad, NULL), EFAULT,
			    "pselect: a %s time is EFAULT", b->name);
		CHECK_ERRNO(pselect(1, NULL, NULL, NULL, &none, bad), EFAULT,
			    "pselect: a %s mask is EFAULT", b->name);
		CHECK_ERRNO(__ppoll(NULL, 0, bad, NULL, 0), EFAULT,
			    "ppoll: a %s time is EFAULT", b->name);
	}
}

static void
test_timeouts(void)
{
	struct timeval t = {.tv_usec = 30000};
	struct pollfd p;
	fd_set r;
	long start;

	pipe_open(fds);
	p = (struct pollfd){.fd = fds[0], .events = POLLIN};
	start = now_ms();
	CHECK(poll(&p, 1, 30) == 0 && p.revents == 0 && now_ms() - start >= 30,
	      "poll gives up in time, not before");
	FD_ZERO(&r);
	FD_SET(fds[0], &r);
	start = now_ms();
	CHECK(select(fds[0] + 1, &r, NULL, NULL, &t) == 0 &&
		  !FD_ISSET(fds[0], &r) && now_ms() - start >= 30,
	      "select, too");
	start = now_ms();
	CHECK(poll(NULL, 0, 20) == 0 && now_ms() - start >= 20,
	      "poll of nothing sleeps");
	t = (struct timeval){.tv_usec = 20000};
	start = now_ms();
	CHECK(select(0, NULL, NULL, NULL, &t) == 0 && now_ms() - start >= 20,
	      "select of nothing, too");
	write(fds[1], "x", 1);
	t.tv_sec = (time_t)1 << 62;
	FD_SET(fds[0], &r);
	CHECK(poll(&p, 1, -1) == 1 &&
		  select(fds[0] + 1, &r, NULL, NULL, NULL) == 1 &&
		  select(fds[0] + 1, &r, NULL, NULL, &t) == 1,
	      "what is ready waits for no time");
	pipe_close(fds);
}

static void
test_many(void)
{
	struct pollfd p[2 * PIPES];
	int end[PIPES][2], poll_good = 0, select_good = 0;

	for (int i = 0; i < PIPES; i++)
		pipe_open(end[i]);
	for (int i = 0; i < PIPES; i++) {
		fd_set r;
		int n;

		write(end[i][1], "x", 1);
		FD_ZERO(&r);
		for (int k = 0; k < PIPES; k++) {
			p[k] = (struct pollfd){end[k][0], POLLIN, 0};
			FD_SET(end[k][0], &r);
		}
		n = poll(p, PIPES, -1);
		poll_good += n == 1 && p[i].revents == POLLIN;
		n = select(FD_SETSIZE, &r, NULL, NULL, NULL);
		select_good += n == 1 && FD_ISSET(end[i][0], &r);
		read(end[i][0], buf, 1);
	}
	CHECK(poll_good == PIPES, "poll finds the one of 24 pipes");
	CHECK(select_good == PIPES, "select finds it");
	for (int i = 0; i < PIPES; i++) {
		p[2 * i] = (struct pollfd){end[i][0], POLLIN, 0};
		p[2 * i + 1] = (struct pollfd){end[i][1], POLLOUT, 0};
	}
	CHECK(poll(p, 2 * PIPES, -1) == PIPES, "all 24 can be written");
	for (int i = 0; i < PIPES; i++)
		pipe_close(end[i]);
}

/* What a child does a little later to fds[0] or fds[1]. */
static int
write_one(void)
{
	usleep(20000);
	return write(fds[1], "x", 1) == 1 ? 0 : 1;
}

static int
read_page(void)
{
	usleep(20000);
	return read(fds[0], buf, ATOMIC) == ATOMIC ? 0 : 1;
}

static int
only_end(void)
{
	usleep(20000);
	return 0;
}

/* Wait for fd while a child does that; what poll said. */
static int
wait_for(int fd, int events, int (*run)(void), int closing)
{
	struct pollfd p = {.fd = fd, .events = events};
	pid_t child = child_start(run);
	int n;

	if (closing >= 0)
		close(closing);
	n = poll(&p, 1, DEADLINE * MS_PER_S);
	return child_wait(child) == 0 && n == 1 ? p.revents : -1;
}

static void
test_woken(void)
{
	struct timeval t = {.tv_sec = (time_t)1 << 62};
	fd_set r;
	pid_t child;

	pipe_open(fds);
	CHECK(wait_for(fds[0], POLLIN, write_one, -1) == POLLIN,
	      "poll wakes when there is something to read");
	read(fds[0], buf, 1);
	FD_ZERO(&r);
	FD_SET(fds[0], &r);
	child = child_start(write_one);
	CHECK(select(fds[0] + 1, &r, NULL, NULL, &t) == 1 &&
		  FD_ISSET(fds[0], &r) && child_wait(child) == 0,
	      "select wakes, though it could wait for ever");
	read(fds[0], buf, 1);
	write(fds[1], buf, CAPACITY);
	CHECK(wait_for(fds[1], POLLOUT, read_page, -1) == POLLOUT,
	      "when there is room");
	CHECK(wait_for(fds[1], 0, only_end, fds[0]) == POLLERR,
	      "when the last reader ends");
	close(fds[1]);
	pipe_open(fds);
	CHECK(wait_for(fds[0], POLLIN, only_end, fds[1]) == POLLHUP,
	      "when the last writer ends");
	close(fds[0]);
}

/* Wait with all the others for one byte; leave it there. */
static int
see_it(void)
{
	struct pollfd p[2] = {{fds[0], POLLIN, 0}, {fds[0], POLLIN, 0}};

	return poll(p, 2, DEADLINE * MS_PER_S) == 2 && p[0].revents == POLLIN &&
		       p[1].revents == POLLIN
		   ? 0
		   : 1;
}

static void
test_many_wait(void)
{
	pid_t pid[4];
	int good = 0;

	pipe_open(fds);
	for (int i = 0; i < 4; i++)
		pid[i] = child_start(see_it);
	usleep(20000);
	write(fds[1], "x", 1);
	for (int i = 0; i < 4; i++)
		good += child_wait(pid[i]) == 0;
	CHECK(good == 4, "all who wait for one pipe are woken, twice each");
	pipe_close(fds);
}

/* Send back each byte, once poll has told of it. */
static int
echo(int from, int to)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	char c;

	while (poll(&p, 1, DEADLINE * MS_PER_S) == 1) {
		if (read(from, &c, 1) != 1)
			return p.revents == POLLHUP ? 0 : 1;
		write(to, &c, 1);
	}
	return 1;
}

static void
test_no_wake_lost(void)
{
	int there[2], back[2], good = 0;
	struct pollfd p[2];
	pid_t child;

	pipe_open(there);
	pipe_open(back);
	child = fork();
	if (child == 0) {
		close(there[1]);
		_exit(echo(there[0], back[1]));
	}
	p[0] = (struct pollfd){.fd = open("/dev/console", O_RDWR),
			       .events = POLLIN};
	p[1] = (struct pollfd){.fd = back[0], .events = POLLIN};
	for (int i = 0; i < ROUNDS; i++) {
		char c = i;

		write(there[1], &c, 1);
		good += poll(p, 2, DEADLINE * MS_PER_S) == 1 &&
			read(back[0], &c, 1) == 1 && c == (char)i;
	}
	CHECK(good == ROUNDS, "300 times polled, there and back");
	close(there[1]);
	CHECK(child_wait(child) == 0, "to the end");
	close(there[0]);
	close(p[0].fd);
	pipe_close(back);
}

static volatile sig_atomic_t caught;

static void
on_signal(int sig)
{
	caught = sig;
}

/* A signal that is blocked comes only while the call waits. */
static void
test_masks(void)
{
	const struct timespec none = {0}, long_time = {.tv_sec = DEADLINE};
	sigset_t usr1 = sigmask(SIGUSR1), empty = 0, now;

	signal(SIGUSR1, on_signal);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	raise(SIGUSR1);
	CHECK(ppoll(NULL, 0, &none, NULL) == 0 && caught == 0,
	      "ppoll: without a mask a blocked signal stays so");
	CHECK_ERRNO(ppoll(NULL, 0, &long_time, &empty), EINTR,
		    "ppoll: with one it comes");
	sigprocmask(SIG_BLOCK, NULL, &now);
	CHECK(caught == SIGUSR1 && now == usr1, "and is blocked again");
	caught = 0;
	raise(SIGUSR1);
	CHECK_ERRNO(pselect(0, NULL, NULL, NULL, &long_time, &empty), EINTR,
		    "pselect: as well");
	sigprocmask(SIG_BLOCK, NULL, &now);
	CHECK(caught == SIGUSR1 && now == usr1, "and is blocked again");
	CHECK(ppoll(NULL, 0, &none, &empty) == 0, "ppoll: no signal comes");
	sigprocmask(SIG_SETMASK, NULL, &now);
	CHECK(now == usr1, "and the mask is the old one");
	sigprocmask(SIG_SETMASK, &empty, NULL);
	signal(SIGUSR1, SIG_DFL);
	caught = 0;
}

static void
test_interrupted(void)
{
	const struct itimerval never = {0},
			       often = {
				   .it_value = {.tv_usec = 20000},
				   .it_interval = {.tv_usec = 20000},
			       };
	struct pollfd p;
	fd_set r, before;

	pipe_open(fds);
	p = (struct pollfd){.fd = fds[0], .events = POLLIN};
	FD_ZERO(&r);
	FD_SET(fds[0], &r);
	before = r;
	signal(SIGALRM, on_signal); /* with SA_RESTART */
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK_ERRNO(poll(&p, 1, -1), EINTR, "a signal ends poll");
	CHECK(caught == SIGALRM, "having been handled");
	CHECK_ERRNO(select(fds[0] + 1, &r, NULL, NULL, NULL), EINTR,
		    "and select");
	CHECK(memcmp(&r, &before, sizeof(r)) == 0, "which leaves its sets");
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	pipe_close(fds);
}

int
main(void)
{
	scratch_enter("select.d");
	test_files();
	test_pipes();
	test_hang_up();
	test_poll_arguments();
	test_select_arguments();
	test_timeouts();
	test_many();
	test_masks();
	test_interrupted();
	alarm(DEADLINE);
	test_woken();
	test_many_wait();
	test_no_wake_lost();
	scratch_leave("select.d");
	return check_done();
}
