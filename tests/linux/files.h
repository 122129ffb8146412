/* What the programs about files share: each call is printed with its result,
 * or the name of its error. */
#ifndef FILES_H
#define FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAY(call) said(#call, call)

static inline long
said(const char *what, long result)
{
	if (result < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, result);
	return result;
}

/* Make a file that holds text. */
static inline void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		printf("write_file %s: %s\n", path, strerrorname_np(errno));
	close(fd);
}

/* Print what a file holds. */
static inline void
show(const char *path)
{
	char buf[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (n < 0) {
		printf("show %s: %s\n", path, strerrorname_np(errno));
	} else {
		buf[n] = '\0';
		printf("show %s: \"%s\"\n", path, buf);
	}
	if (fd >= 0)
		close(fd);
}

/* A directory to work in, with files that are readable for all. */
static inline void
work_in(const char *name)
{
	umask(022);
	if (mkdir(name, 0755) < 0 || chdir(name) < 0)
		exit(99);
}

#endif
