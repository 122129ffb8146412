/* Terminals, by way of ioctl. */
#include <errno.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int
tcgetattr(int fd, struct termios *t)
{
	return ioctl(fd, TCGETS, t);
}

int
tcsetattr(int fd, int when, const struct termios *t)
{
	static const unsigned long request[] = {
	    [TCSANOW] = TCSETS,
	    [TCSADRAIN] = TCSETSW,
	    [TCSAFLUSH] = TCSETSF,
	};
	if (when < TCSANOW || when > TCSAFLUSH) {
		errno = EINVAL;
		return -1;
	}
	return ioctl(fd, request[when], t);
}

pid_t
tcgetpgrp(int fd)
{
	pid_t pgrp;
	return ioctl(fd, TIOCGPGRP, &pgrp) < 0 ? -1 : pgrp;
}

int
tcsetpgrp(int fd, pid_t pgrp)
{
	return ioctl(fd, TIOCSPGRP, &pgrp);
}

int
isatty(int fd)
{
	struct termios t;
	return tcgetattr(fd, &t) == 0;
}

/* There is one terminal. */
char *
ttyname(int fd)
{
	return isatty(fd) ? (char *)"/dev/console" : NULL;
}
