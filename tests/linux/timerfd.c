/* timerfd: what is set, what is left, how often it came, what is refused. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "promise.h"

#define MS 1000000

static void *volatile nowhere = (void *)8;

static void
say(const char *what, long result)
{
	printf("%s: %ld", what, result);
	if (result < 0)
		printf(" %s", strerror(errno));
	printf("\n");
}

/* After the value, when the interval has come at least n times. */
static void
wait_times(int fd, uint64_t n)
{
	uint64_t all = 0, times;

	while (all < n) {
		say("read", read(fd, &times, sizeof(times)) == sizeof(times));
		all = times > 0 ? n : 0;
	}
	printf("came\n");
}

static void
say_left(int fd)
{
	struct itimerspec t;

	say("get", timerfd_gettime(fd, &t));
	printf("left: %s, interval %ld.%09ld\n",
	       t.it_value.tv_sec == 0 && t.it_value.tv_nsec == 0 ? "no"
	       : t.it_value.tv_sec < 1000                        ? "some"
								 : "more",
	       (long)t.it_interval.tv_sec, t.it_interval.tv_nsec);
}

static void
test_once(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 3 * MS}, old;
	struct itimerspec off = {0}, late = {.it_value.tv_sec = 500};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	say_left(fd);
	say("set", timerfd_settime(fd, 0, &soon, &old));
	printf("old %ld\n", (long)old.it_value.tv_sec);
	wait_times(fd, 1);
	say_left(fd);
	say("set", timerfd_settime(fd, 0, &late, NULL));
	say_left(fd);
	say("set", timerfd_settime(fd, 0, &off, &old));
	printf("old %d\n", old.it_value.tv_sec >= 499);
	say_left(fd);
	close(fd);
}

static void
test_interval(void)
{
	struct itimerspec t = {.it_value.tv_nsec = 2 * MS,
			       .it_interval.tv_nsec = 10 * MS};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};

	say("set", timerfd_settime(fd, 0, &t, NULL));
	say("poll", poll(&p, 1, -1));
	printf("events %x\n", p.revents);
	wait_times(fd, 1);
	say_left(fd);
	wait_times(fd, 1);
	close(fd);
}

/* At a time of each clock, one that is over and one that comes. */
static void
test_absolute(void)
{
	static const int clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};

	for (int i = 0; i < 2; i++) {
		struct itimerspec t = {.it_value.tv_nsec = 1};
		int fd = timerfd_create(clocks[i], 0);

		say("set", timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL));
		wait_times(fd, 1);
		clock_gettime(clocks[i], &t.it_value);
		t.it_value.tv_sec++;
		say("set", timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL));
		say_left(fd);
		t.it_value.tv_sec += 2000;
		say("set", timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL));
		say_left(fd);
		close(fd);
	}
}

static void
test_errors(void)
{
	struct itimerspec t = {.it_value.tv_nsec = 1000 * MS}, good = {0};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	uint64_t times;

	say("clock", timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
	say("flags", timerfd_create(CLOCK_MONOTONIC, 1));
	say("not set", read(fd, &times, sizeof(times)));
	say("short", read(fd, &times, 4));
	say("write", write(fd, &times, sizeof(times)));
	say("nanoseconds", timerfd_settime(fd, 0, &t, NULL));
	t.it_value.tv_nsec = -1;
	say("nanoseconds", timerfd_settime(fd, 0, &t, NULL));
	t.it_value.tv_nsec = 0;
	t.it_value.tv_sec = -1;
	say("seconds", timerfd_settime(fd, 0, &t, NULL));
	say("flags", timerfd_settime(fd, 8, &good, NULL));
	say("address", timerfd_settime(fd, 0, nowhere, NULL));
	say("no timer", timerfd_settime(0, 0, &good, NULL));
	say("no descriptor", timerfd_gettime(99, &good));
	close(fd);
}

int
main(void)
{
	PROMISE("timerfd_create(2): once");
	test_once();
	PROMISE("timerfd_create(2): again and again");
	test_interval();
	PROMISE("timerfd_create(2): at a moment");
	test_absolute();
	PROMISE("timerfd_create(2): each error");
	test_errors();
	return 0;
}
