/* eventfd: a count that is read and written, and what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "promise.h"

static void *volatile nowhere = (void *)8;

static void
say(const char *what, long result)
{
	printf("%s: %ld", what, result);
	if (result < 0)
		printf(" %s", strerror(errno));
	printf("\n");
}

static void
say_read(int fd)
{
	uint64_t value = 0;
	long n = read(fd, &value, sizeof(value));

	say("read", n);
	printf("value %lu\n", (unsigned long)value);
}

static long
put(int fd, uint64_t value)
{
	return write(fd, &value, sizeof(value));
}

static void
say_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
	int n = poll(&p, 1, 0);

	printf("poll: %d,%s%s%s\n", n, p.revents & POLLIN ? " in" : "",
	       p.revents & POLLOUT ? " out" : "",
	       p.revents & ~(POLLIN | POLLOUT) ? " more" : "");
}

static void
test_count(void)
{
	int fd = eventfd(3, EFD_NONBLOCK);

	say_ready(fd);
	say_read(fd);
	say_read(fd);
	say_ready(fd);
	say("write", put(fd, 5));
	say("write", put(fd, 6));
	say_read(fd);
	say("write the most", put(fd, UINT64_MAX - 1));
	say_ready(fd);
	say("one more", put(fd, 1));
	say("too much", put(fd, UINT64_MAX));
	say("nothing", put(fd, 0));
	say_read(fd);
	close(fd);
}

static void
test_semaphore(void)
{
	int fd = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);

	say_read(fd);
	say_read(fd);
	say_read(fd);
	close(fd);
}

static void
test_errors(void)
{
	int fd = eventfd(1, EFD_CLOEXEC);
	char small[4] = {0};
	struct stat st;

	say("flags", eventfd(0, 0x10));
	say("cloexec", fcntl(fd, F_GETFD));
	say("flags of the file", fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
	say("short read", read(fd, small, sizeof(small)));
	say("short write", write(fd, small, sizeof(small)));
	say("bad write", write(fd, nowhere, 8));
	say("pread", pread(fd, small, sizeof(small), 0));
	say("fstat", fstat(fd, &st));
	printf("mode %o\n", (unsigned int)st.st_mode);
	close(fd);
}

int
main(void)
{
	PROMISE("eventfd(2): what is written is added, a read takes all");
	test_count();
	PROMISE("eventfd(2): EFD_SEMAPHORE takes one");
	test_semaphore();
	PROMISE("eventfd(2): each error");
	test_errors();
	return 0;
}
