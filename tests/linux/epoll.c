/* epoll: levels, edges, one shots, what is refused, and files that are closed
 * while they are watched. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "promise.h"

#define MAX 8

static void *volatile nowhere = (void *)8;
static volatile int less = -1;

static void
say(const char *what, long result)
{
	printf("%s: %ld", what, result);
	if (result < 0)
		printf(" %s", strerror(errno));
	printf("\n");
}

static int
control(int ep, int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};

	return epoll_ctl(ep, op, fd, &e);
}

/* What there is, in the order of data: which bits of events, for each. */
static void
say_events(const char *what, int ep, int max, int ms)
{
	struct epoll_event e[MAX];
	int n = epoll_wait(ep, e, max, ms);

	say(what, n);
	for (uint64_t data = 0; data < 100; data++)
		for (int i = 0; i < n; i++)
			if (e[i].data.u64 == data)
				printf("  %lu: %x\n", (unsigned long)data,
				       e[i].events);
}

static void
test_level(void)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), p[2], q[2];
	char buf[16];

	pipe(p);
	pipe(q);
	say("cloexec", fcntl(ep, F_GETFD));
	say("add", control(ep, EPOLL_CTL_ADD, p[0], EPOLLIN, 1));
	say("add", control(ep, EPOLL_CTL_ADD, q[0], EPOLLIN, 2));
	say("add", control(ep, EPOLL_CTL_ADD, p[1], EPOLLOUT, 3));
	say("again", control(ep, EPOLL_CTL_ADD, p[0], EPOLLIN, 1));
	say_events("room", ep, MAX, 0);
	say("del", control(ep, EPOLL_CTL_DEL, p[1], 0, 0));
	say_events("nothing", ep, MAX, 0);
	write(p[1], "abc", 3);
	write(q[1], "abc", 3);
	say_events("both", ep, MAX, -1);
	say_events("both", ep, MAX, -1);
	read(p[0], buf, 1);
	read(q[0], buf, 3);
	say_events("one", ep, MAX, -1);
	say("mod", control(ep, EPOLL_CTL_MOD, p[0], EPOLLPRI, 1));
	say_events("nothing", ep, MAX, 0);
	close(p[1]);
	say_events("hang-up", ep, MAX, -1);
	close(p[0]);
	say_events("closed", ep, MAX, 0);
	close(q[0]);
	close(q[1]);
	close(ep);
}

/* An edge is what comes, not what is there; however the pipe is emptied. */
static void
test_edge(void)
{
	int ep = epoll_create1(0), p[2];
	char buf[16];

	pipe(p);
	write(p[1], "abcdef", 6);
	say("add", control(ep, EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLET, 1));
	say_events("first", ep, MAX, 0);
	say_events("no news", ep, MAX, 0);
	read(p[0], buf, 2);
	say_events("a part was read", ep, MAX, 0);
	write(p[1], "g", 1);
	say_events("more came", ep, MAX, 0);
	read(p[0], buf, sizeof(buf));
	write(p[1], "h", 1);
	say_events("emptied, and filled", ep, MAX, 0);
	read(p[0], buf, sizeof(buf));
	say_events("emptied", ep, MAX, 0);
	write(p[1], "i", 1);
	read(p[0], buf, sizeof(buf));
	say_events("came and went", ep, MAX, 0);
	write(p[1], "j", 1);
	say_events("once", ep, MAX, 0);
	say("mod", control(ep, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLET, 2));
	say_events("set again", ep, MAX, 0);
	close(p[1]);
	say_events("hang-up", ep, MAX, 0);
	say_events("no news", ep, MAX, 0);
	close(p[0]);
	close(ep);
}

static void
test_eventfd(void)
{
	int ep = epoll_create1(0), fd = eventfd(0, EFD_NONBLOCK);
	uint64_t one = 1, value;

	say("add", control(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, 7));
	say_events("nothing", ep, MAX, 0);
	for (int i = 0; i < 3; i++) {
		write(fd, &one, sizeof(one));
		say_events("written", ep, MAX, 0);
	}
	read(fd, &value, sizeof(value));
	say_events("read", ep, MAX, 0);
	say("mod",
	    control(ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLOUT | EPOLLET, 7));
	say_events("room", ep, MAX, 0);
	say_events("no news", ep, MAX, 0);
	write(fd, &one, sizeof(one));
	say_events("both", ep, MAX, 0);
	close(fd);
	close(ep);
}

static void
test_oneshot(void)
{
	int ep = epoll_create1(0), p[2];

	pipe(p);
	write(p[1], "abc", 3);
	say("add", control(ep, EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLONESHOT, 1));
	say_events("once", ep, MAX, 0);
	say_events("spent", ep, MAX, 0);
	write(p[1], "abc", 3);
	close(p[1]);
	say_events("still", ep, MAX, 0);
	say("mod", control(ep, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLONESHOT, 1));
	say_events("again", ep, MAX, 0);
	close(p[0]);
	close(ep);
}

/* The watch is of a file and a number: a duplicate keeps it. */
static void
test_duplicate(void)
{
	int ep = epoll_create1(0), p[2], copy;

	pipe(p);
	copy = dup(p[0]);
	write(p[1], "abc", 3);
	say("add", control(ep, EPOLL_CTL_ADD, p[0], EPOLLIN, 1));
	say("add", control(ep, EPOLL_CTL_ADD, copy, EPOLLIN, 2));
	say_events("two", ep, MAX, 0);
	close(p[0]);
	say_events("still two", ep, MAX, 0);
	say("del", control(ep, EPOLL_CTL_DEL, p[0], 0, 0));
	close(copy);
	say_events("none", ep, MAX, 0);
	close(p[1]);
	close(ep);
}

/* More events than are asked for: each comes in its turn. */
static void
test_turns(void)
{
	struct epoll_event e;
	int ep = epoll_create1(0), fd[5], seen = 0;

	for (int i = 0; i < 5; i++) {
		fd[i] = eventfd(1, 0);
		control(ep, EPOLL_CTL_ADD, fd[i], EPOLLIN, i);
	}
	for (int i = 0; i < 5; i++)
		if (epoll_wait(ep, &e, 1, 0) == 1)
			seen |= 1 << e.data.u64;
	printf("seen in five turns: %x\n", seen);
	for (int i = 0; i < 5; i++)
		close(fd[i]);
	close(ep);
}

static void
test_errors(void)
{
	int ep = epoll_create1(0), fd = eventfd(1, 0);
	int file = open("file", O_RDWR | O_CREAT, 0666);
	struct epoll_event e[MAX];

	say("flags", epoll_create1(1));
	say("size", epoll_create(0));
	say("no epoll", control(fd, EPOLL_CTL_ADD, fd, EPOLLIN, 0));
	say("no epoll", control(fd, EPOLL_CTL_ADD, ep, EPOLLIN, 0));
	say("itself", control(ep, EPOLL_CTL_ADD, ep, EPOLLIN, 0));
	say("no descriptor", control(ep, EPOLL_CTL_ADD, 99, EPOLLIN, 0));
	say("no descriptor", control(99, EPOLL_CTL_ADD, ep, EPOLLIN, 0));
	say("a file", control(ep, EPOLL_CTL_ADD, file, EPOLLIN, 0));
	say("not there", control(ep, EPOLL_CTL_MOD, fd, EPOLLIN, 0));
	say("not there", control(ep, EPOLL_CTL_DEL, fd, EPOLLIN, 0));
	say("op", control(ep, 4, fd, EPOLLIN, 0));
	say("no event", epoll_ctl(ep, EPOLL_CTL_ADD, fd, NULL));
	say("add", control(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT, 5));
	say("none", epoll_wait(ep, e, 0, 0));
	say("less", epoll_wait(ep, e, less, 0));
	say("address", epoll_wait(ep, nowhere, 1, 0));
	say_events("not lost", ep, MAX, 0);
	say("no epoll", epoll_wait(fd, e, 1, 0));
	say("no descriptor", epoll_wait(99, e, 1, 0));
	say("read", read(ep, e, sizeof(e)));
	say("write", write(ep, e, sizeof(e)));
	unlink("file");
	close(file);
	close(fd);
	close(ep);
}

/* A timer ends a wait. */
static void
test_timer(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1000000};
	int ep = epoll_create1(0);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	uint64_t times;

	control(ep, EPOLL_CTL_ADD, timer, EPOLLIN | EPOLLET, 2);
	say_events("not set", ep, MAX, 0);
	say("set", timerfd_settime(timer, 0, &soon, NULL));
	say_events("timer", ep, MAX, -1);
	say_events("no news", ep, MAX, 0);
	say("read", read(timer, &times, sizeof(times)));
	printf("times %lu\n", (unsigned long)times);
	say("read", read(timer, &times, sizeof(times)));
	close(timer);
	close(ep);
}

int
main(void)
{
	PROMISE("epoll(7): a level is told as long as it stands");
	test_level();
	PROMISE("epoll(7): an edge is told once");
	test_edge();
	PROMISE("epoll(7): each write to an eventfd is an edge");
	test_eventfd();
	PROMISE("epoll_ctl(2): EPOLLONESHOT tells once, until it is modified");
	test_oneshot();
	PROMISE("epoll(7): a duplicate keeps a closed descriptor's watch");
	test_duplicate();
	PROMISE("epoll_wait(2): more than there is room for come in turns");
	test_turns();
	PROMISE("epoll_ctl(2): each error");
	test_errors();
	PROMISE("epoll_wait(2): a timer is waited for, and a time-out ends");
	test_timer();
	return 0;
}
