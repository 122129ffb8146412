/* Flags that are ignored, and those of which only the answer matters: open(2),
 * mmap(2), madvise(2), clock_getres(2), timerfd_create(2), close_range(2). */
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>

#include "files.h"
#include "promise.h"

#define PAGE 4096
#define RW   (PROT_READ | PROT_WRITE)

/* O_ASYNC is for F_SETOWN's signals: neither is asked for here. */
static void
test_open(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_ASYNC, 0644);

	SAY(write(fd, "text", 4));
	close(fd);
	fd = open("file", O_PATH);
	SAY(fcntl(fd, F_GETFD));
	close(fd);
}

static void
test_mmap(int extra)
{
	char *p = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | extra,
		       -1, 0);

	printf("mapped: %d\n", p != MAP_FAILED);
	p[0] = 'a';
	p[4 * PAGE - 1] = 'z';
	printf("%c %d %c\n", p[0], p[PAGE], p[4 * PAGE - 1]);
	SAY(munmap(p, 4 * PAGE));
}

static void
test_madvise(void)
{
	char *p = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p[0] = 'a';
	SAY(madvise(p, PAGE, MADV_FREE));
	p[0] = 'b';
	printf("written since: %c\n", p[0]);
	SAY(munmap(p, PAGE));
}

static void
test_clocks(void)
{
	static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC,
					   CLOCK_BOOTTIME};
	struct itimerspec ask = {.it_value.tv_sec = 1};
	struct timespec t;
	int fd;

	for (int i = 0; i < 3; i++) {
		SAY(clock_gettime(clocks[i], &t));
		SAY(clock_getres(clocks[i], &t));
		SAY(fd = timerfd_create(clocks[i], 0));
		SAY(timerfd_settime(fd, 0, &ask, NULL));
		close(fd);
	}
	fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
	clock_gettime(CLOCK_REALTIME, &ask.it_value);
	ask.it_value.tv_sec += 1000;
	SAY(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
			    &ask, NULL));
	close(fd);
}

static void
test_close_range(void)
{
	SAY(dup2(1, 20));
	SAY(close_range(20, 30, CLOSE_RANGE_UNSHARE));
	SAY(fcntl(20, F_GETFD));
	SAY(close_range(30, 20, 0));
}

/* What an old action reads as says which flags there are. */
static void
test_sigaction(void)
{
	struct sigaction action = {.sa_handler = SIG_IGN,
				   .sa_flags = SA_NODEFER | SA_RESTART};
	struct sigaction old;

	SAY(sigaction(SIGUSR1, &action, NULL));
	SAY(sigaction(SIGUSR1, NULL, &old));
	printf("flags: %x\n", old.sa_flags & (SA_NODEFER | SA_RESTART));
}

int
main(void)
{
	work_in("ignored");
	PROMISE("open(2): O_ASYNC and O_PATH");
	test_open();
	PROMISE("mmap(2): MAP_GROWSDOWN");
	test_mmap(MAP_GROWSDOWN);
	PROMISE("mmap(2): MAP_LOCKED");
	test_mmap(MAP_LOCKED);
	PROMISE("mmap(2): MAP_POPULATE");
	test_mmap(MAP_POPULATE);
	PROMISE("madvise(2): MADV_FREE");
	test_madvise();
	PROMISE("timerfd_create(2): the clocks, and TFD_TIMER_CANCEL_ON_SET");
	test_clocks();
	PROMISE("close_range(2): CLOSE_RANGE_UNSHARE");
	test_close_range();
	PROMISE("sigaction(2): flags read as they were set");
	test_sigaction();
	return 0;
}
