/* ioctl of what isn't a terminal: what all files answer, and errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
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

/* What no file but a terminal answers. */
static void
test_no_terminal(int fd)
{
	struct termios t;
	struct winsize w;
	pid_t pid = 0;

	say("isatty", isatty(fd));
	printf("%s\n", strerror(errno));
	say("tcgetattr", tcgetattr(fd, &t));
	say("size", ioctl(fd, TIOCGWINSZ, &w));
	say("group", ioctl(fd, TIOCGPGRP, &pid));
	say("group", ioctl(fd, TIOCSPGRP, &pid));
	say("session", ioctl(fd, TIOCGSID, &pid));
	say("nothing", ioctl(fd, 0xabcd, &pid));
}

static void
test_any(int fd)
{
	int on = 1;

	say("cloexec", ioctl(fd, FIOCLEX));
	say("is", fcntl(fd, F_GETFD));
	say("not cloexec", ioctl(fd, FIONCLEX));
	say("is", fcntl(fd, F_GETFD));
	say("nonblock", ioctl(fd, FIONBIO, &on));
	say("is", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	on = 0;
	say("block", ioctl(fd, FIONBIO, &on));
	say("is", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	say("address", ioctl(fd, FIONBIO, nowhere));
}

static void
test_count(int fd)
{
	int count = -1;

	say("count", ioctl(fd, FIONREAD, &count));
	printf("is %d\n", count);
	say("address", ioctl(fd, FIONREAD, nowhere));
}

int
main(void)
{
	int end[2], fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0666);
	char c;

	pipe(end);
	write(fd, "abcdef", 6);
	lseek(fd, 2, SEEK_SET);
	write(end[1], "abc", 3);
	read(end[0], &c, 1);
	PROMISE("ioctl_tty(2): ENOTTY of what is no terminal");
	test_no_terminal(fd);
	test_no_terminal(end[0]);
	test_no_terminal(open("/dev/null", O_RDWR));
	PROMISE("ioctl(2): FIOCLEX, FIONCLEX and FIONBIO of any file");
	test_any(fd);
	test_any(end[0]);
	PROMISE("ioctl(2): FIONREAD of files and pipes");
	test_count(fd);
	lseek(fd, 10, SEEK_SET);
	test_count(fd);
	test_count(end[0]);
	test_count(end[1]);
	PROMISE("ioctl(2): EBADF");
	say("no descriptor", ioctl(99, FIOCLEX));
	say("no descriptor", ioctl(99, TCGETS, &c));
	unlink("file");
	return 0;
}
