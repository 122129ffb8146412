/* <err.h>: messages that begin with the program's name. */
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **__argv; /* main's, from crt0 */

/* The message; then, unless error is -1, what that errno means. */
static void
say(int error, const char *format, va_list args)
{
	const char *slash = strrchr(__argv[0], '/');
	fprintf(stderr, "%s: ", slash != NULL ? slash + 1 : __argv[0]);
	vfprintf(stderr, format, args);
	if (error != -1)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
}

void
warn(const char *format, ...)
{
	int e = errno;
	va_list args;

	va_start(args, format);
	say(e, format, args);
	va_end(args);
}

void
warnx(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(-1, format, args);
	va_end(args);
}

void
err(int status, const char *format, ...)
{
	int e = errno;
	va_list args;

	va_start(args, format);
	say(e, format, args);
	va_end(args);
	exit(status);
}

void
errx(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(-1, format, args);
	va_end(args);
	exit(status);
}
