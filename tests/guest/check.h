/*
 * Checks of a guest test program: one line each, and `done N` at the end, as
 * tests/harness/checks.py reads them.
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int checks_made, checks_failed;

/* CHECK(condition, format, ...): the rest is the check's name, as printf has
 * it. For one process only: a child tells its parent by its exit status. */
#define CHECK(good, ...)                                                \
	({                                                              \
		bool good_ = (good); /* before errno is looked at */    \
		check_line(good_, __LINE__, #good, errno, __VA_ARGS__); \
	})

/* CHECK_ERRNO(call, errno, format, ...): it fails with just that. */
#define CHECK_ERRNO(call, wanted, ...) \
	CHECK((errno = 0, (long)(call) == -1 && errno == (wanted)), __VA_ARGS__)

static inline __attribute__((format(printf, 5, 6))) bool
check_line(bool good, int line, const char *what, int err, const char *name,
	   ...)
{
	va_list args;

	checks_made++;
	checks_failed += !good;
	fputs(good ? "ok " : "not ok ", stdout);
	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	if (!good)
		printf(": line %d: %s: %s", line, what, strerror(err));
	putchar('\n');
	fflush(stdout); /* a child must not inherit it */
	return good;
}

/* By what deadlines are stretched, where the host is slow: a second of a
 * machine that runs free is the host's (tests/harness/patience.py). */
static inline int
patience(void)
{
	static int factor;

	if (factor == 0) {
		char text[8] = "1";
		int fd = open("/etc/patience", O_RDONLY);

		if (fd >= 0) {
			read(fd, text, sizeof(text) - 1);
			close(fd);
		}
		factor = atoi(text);
	}
	return factor;
}

/* return check_done(); ends main. */
static inline int
check_done(void)
{
	printf("done %d\n", checks_made);
	return checks_failed ? 1 : 0;
}

#endif
