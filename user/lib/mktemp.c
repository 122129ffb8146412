/*
 * Names for temporary files: the X's at a template's end are replaced. In place
 * of the C library's own, which opens with other numbers of flags (fcntl.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 1000
#define LEAST 6 /* X's that a template has */

/* Letters and digits that differ from call to call and from process to process;
 * whoever opens a file makes sure that it is new. */
static void
fill(char *to, size_t n)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static unsigned int calls; /* atomic */
	uint64_t value, time;

	asm volatile("rdtime %0" : "=r"(time));
	value = (time << 32 ^ (uint64_t)getpid() << 16) +
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < n; i++) {
		value = value * 6364136223846793005 + 1442695040888963407;
		to[i] = digits[(value >> 33) % (sizeof(digits) - 1)];
	}
}

/* Make a name, the last `suffix' bytes of which stay; open it if asked to. The
 * descriptor, or 0; or -1, EINVAL for a template that is none, or why not. */
static int
make(char *template, int suffix, bool opens, int flags)
{
	size_t length = strlen(template), end = length - suffix, start = end;
	struct stat st;

	while (start > 0 && start <= length && template[start - 1] == 'X')
		start--;
	if (suffix < 0 || end > length || end - start < LEAST) {
		errno = EINVAL;
		return -1;
	}
	for (int i = 0; i < TRIES; i++) {
		int fd;

		fill(template + start, end - start);
		if (opens)
			fd = open(template, flags | O_RDWR | O_CREAT | O_EXCL,
				  S_IRUSR | S_IWUSR);
		else
			fd = stat(template, &st) < 0 && errno == ENOENT ? 0
									: -1;
		if (fd >= 0 || (opens && errno != EEXIST))
			return fd;
	}
	errno = EEXIST;
	return -1;
}

int
mkostemps(char *template, int suffix, int flags)
{
	return make(template, suffix, true, flags & ~O_ACCMODE);
}

int
mkstemps(char *template, int suffix)
{
	return make(template, suffix, true, 0);
}

int
mkstemp(char *template)
{
	return make(template, 0, true, 0);
}

/* The name may be taken by the time that it is used: mkstemp is better. */
char *
mktemp(char *template)
{
	int e = errno;

	if (make(template, 0, false, 0) < 0)
		*template = '\0';
	else
		errno = e;
	return template;
}
