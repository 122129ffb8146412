/*
 * epoll, eventfd and timerfd on several harts: no wake-up is lost, files that
 * are closed while they are watched and waited for leave nothing behind, and
 * there is a limit. What they do otherwise is compared with Linux
 * (tests/linux/epoll.c).
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "helpers.h"

#define WRITERS 4
#define ROUNDS  300
#define LIMIT   4096 /* watches of all epolls */
#define FILES   20
#define NUMBERS 24 /* descriptors that one file is watched as */
#define FIRST   36 /* of them */
#define EPOLLS  12

static int
watch(int epoll, int fd, unsigned int events)
{
	struct epoll_event event = {.events = events, .data = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int
wait_one(int epoll, struct epoll_event *event, int ms)
{
	return epoll_pwait(epoll, event, 1, ms, NULL, 0);
}

/* Each child adds to an eventfd of its own, and waits until that is seen. The
 * parent is told by edges only: were one lost, both would wait for ever. */
static int
add_in_turns(int there, int back)
{
	uint64_t one = 1;

	for (int i = 0; i < ROUNDS; i++)
		if (write(there, &one, sizeof(one)) != sizeof(one) ||
		    read(back, &one, sizeof(one)) != sizeof(one) || one != 1)
			return 1;
	return 0;
}

static void
test_edges(void)
{
	int epoll = epoll_create1(0), back[64], seen = 0, bad = 0;
	struct epoll_event event;
	pid_t child[WRITERS];
	uint64_t count;

	for (int i = 0; i < WRITERS; i++) {
		int there = eventfd2(0, O_NONBLOCK);

		back[there] = eventfd2(0, 0);
		watch(epoll, there, POLLIN | EPOLLET);
		child[i] = fork();
		if (child[i] == 0) {
			fcntl(there, F_SETFL, 0);
			_exit(add_in_turns(there, back[there]));
		}
	}
	while (seen < WRITERS * ROUNDS) {
		if (wait_one(epoll, &event, -1) != 1)
			break;
		if (read(event.data, &count, sizeof(count)) != sizeof(count))
			continue; /* taken with an earlier one */
		seen += count;
		write(back[event.data], &count, sizeof(count));
	}
	for (int i = 0; i < WRITERS; i++)
		bad += child_wait(child[i]);
	CHECK(seen == WRITERS * ROUNDS && bad == 0, "no edge is lost");
	for (int fd = 3; fd < 64; fd++)
		close(fd);
}

static int shared;

/* Wait on the epoll while others add and close files of it. */
static void *
wait_often(void *)
{
	struct epoll_event event;

	for (int i = 0; i < ROUNDS; i++)
		wait_one(shared, &event, 1);
	return NULL;
}

static void *
close_often(void *)
{
	long bad = 0;

	for (int i = 0; i < 10 * ROUNDS; i++) {
		int fd = eventfd2(i % 2, 0);

		bad += watch(shared, fd, POLLIN) < 0;
		close(fd);
	}
	return (void *)bad;
}

/* Each of these closes takes a watch away: there are more than the limit. */
static void
test_close(void)
{
	pthread_t waits, closes[2];
	void *bad[2];

	shared = epoll_create1(0);
	pthread_create(&waits, NULL, wait_often, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&closes[i], NULL, close_often, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(closes[i], &bad[i]);
	pthread_join(waits, NULL);
	CHECK(bad[0] == NULL && bad[1] == NULL,
	      "files that are closed are no longer watched");
	close(shared);
}

/* Watch one file as many descriptors. Returns how many watches that made, less
 * than NUMBERS if there is an error. */
static int
watch_as_many(int epoll, int fd)
{
	for (int i = 0; i < NUMBERS; i++) {
		dup2(fd, FIRST + i);
		if (watch(epoll, FIRST + i, POLLIN) < 0)
			return i;
	}
	return NUMBERS;
}

/* In a child, which has few descriptors: the end takes all watches away. */
static int
fill(void)
{
	int file[FILES], n = 0, more = NUMBERS;

	for (int i = 0; i < FILES; i++)
		file[i] = eventfd2(0, 0);
	for (int e = 0; e < EPOLLS && more == NUMBERS; e++) {
		int epoll = epoll_create1(0);

		for (int i = 0; i < FILES && more == NUMBERS; i++)
			n += more = watch_as_many(epoll, file[i]);
	}
	return n == LIMIT && errno == ENOSPC ? 0 : 1;
}

static void
test_limit(void)
{
	CHECK(child_run(fill) == 0, "there are at most %d watches", LIMIT);
	CHECK(child_run(fill) == 0, "an end takes its watches away");
}

/* A timer that is set while another thread waits for it ends the wait. */
static void *
set_timer(void *arg)
{
	struct itimerspec now = {.it_value.tv_nsec = 1};

	timerfd_settime(*(int *)arg, 0, &now, NULL);
	return NULL;
}

static void
test_timer(void)
{
	struct itimerspec late = {.it_value.tv_sec = 1000};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct pollfd p = {.fd = timer, .events = POLLIN};
	uint64_t times = 0;
	pthread_t thread;

	timerfd_settime(timer, 0, &late, NULL);
	pthread_create(&thread, NULL, set_timer, &timer);
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN,
	      "poll waits for a timer that is set meanwhile");
	pthread_join(thread, NULL);
	timerfd_settime(timer, 0, &late, NULL);
	pthread_create(&thread, NULL, set_timer, &timer);
	CHECK(read(timer, &times, sizeof(times)) == sizeof(times) && times == 1,
	      "as does read");
	pthread_join(thread, NULL);
	close(timer);
}

/* An epoll can be polled, but not watched. */
static void
test_polled(void)
{
	int epoll = epoll_create1(0), other = epoll_create1(0);
	int fd = eventfd2(0, 0);
	struct pollfd p = {.fd = epoll, .events = POLLIN};
	uint64_t one = 1;

	watch(epoll, fd, POLLIN | EPOLLET);
	CHECK(poll(&p, 1, 0) == 0, "an epoll without events isn't ready");
	write(fd, &one, sizeof(one));
	CHECK(poll(&p, 1, -1) == 1 && poll(&p, 1, -1) == 1,
	      "one with events is, and stays so");
	CHECK_ERRNO(watch(other, epoll, POLLIN), ELOOP,
		    "an epoll watches no other");
	close(fd);
	close(other);
	close(epoll);
}

int
main(void)
{
	alarm(DEADLINE);
	test_edges();
	test_close();
	test_limit();
	test_timer();
	test_polled();
	return check_done();
}
