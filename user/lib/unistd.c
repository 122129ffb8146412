/*
 * The rest of <unistd.h>. Tally has one user, who may do everything: all ids
 * are 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PAGE_SIZE    4096
#define HZ           100
#define DESCRIPTORS  1024        /* that a process may have open */
#define ARGUMENTS    (128 << 10) /* bytes that exec takes */
#define POSIX_ISSUED 200809L

long __getcwd(char *buf, size_t size); /* the system call: the length */

/* With buf NULL, in memory from malloc. */
char *
getcwd(char *buf, size_t size)
{
	char own[PATH_MAX];

	if (buf != NULL)
		return __getcwd(buf, size) < 0 ? NULL : buf;
	return __getcwd(own, sizeof(own)) < 0 ? NULL : strdup(own);
}

/* The C library's doesn't remove directories. */
int
remove(const char *path)
{
	int result = unlink(path);
	return result < 0 && errno == EISDIR ? rmdir(path) : result;
}

pid_t
getpgrp(void)
{
	return getpgid(0);
}

int
getpagesize(void)
{
	return PAGE_SIZE;
}

int
gethostname(char *name, size_t size)
{
	struct utsname u;

	if (uname(&u) < 0)
		return -1;
	if (strlcpy(name, u.nodename, size) >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

/* -1 with errno as it was: no such limit. */
long
sysconf(int name)
{
	struct sysinfo info;

	switch (name) {
	case _SC_PAGESIZE:
		return PAGE_SIZE;
	case _SC_CLK_TCK:
		return HZ;
	case _SC_OPEN_MAX:
		return DESCRIPTORS;
	case _SC_ARG_MAX:
		return ARGUMENTS;
	case _SC_VERSION:
		return POSIX_ISSUED;
	case _SC_NPROCESSORS_CONF:
	case _SC_NPROCESSORS_ONLN:
		sysinfo(&info, sizeof(info));
		return info.harts;
	case _SC_PHYS_PAGES:
		sysinfo(&info, sizeof(info));
		return info.pages_total;
	case _SC_AVPHYS_PAGES:
		sysinfo(&info, sizeof(info));
		return info.pages_free;
	case _SC_CHILD_MAX:
		return -1;
	}
	errno = EINVAL;
	return -1;
}

/* Formatted output straight to a descriptor. */
int
vdprintf(int fd, const char *format, va_list args)
{
	char *text;
	int n = vasprintf(&text, format, args);
	if (n < 0)
		return -1;
	int done = 0;
	while (done < n) {
		ssize_t some = write(fd, text + done, n - done);
		if (some < 0 && errno != EINTR)
			break;
		done += some > 0 ? some : 0;
	}
	free(text);
	return done < n ? -1 : n;
}

int
dprintf(int fd, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vdprintf(fd, format, args);
	va_end(args);
	return n;
}
