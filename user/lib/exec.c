/*
 * The many ways to say execve: arguments as a list, the program looked for
 * along PATH, the caller's environment.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin"

int
execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

/* Try NAME in each folder of PATH. A file one may not run is remembered, but
 * doesn't end the search. */
int
execvpe(const char *name, char *const argv[], char *const envp[])
{
	char file[PATH_MAX];
	int denied = 0;

	if (*name == '\0' || strchr(name, '/') != NULL)
		return execve(name, argv, envp);
	const char *path = getenv("PATH");
	if (path == NULL)
		path = DEFAULT_PATH;
	for (const char *end = path; *end != '\0'; path = end + 1) {
		end = path + strcspn(path, ":");
		size_t n = end - path;
		if (n + 1 + strlen(name) >= sizeof(file))
			continue;
		memcpy(file, path, n);
		if (n > 0) /* an empty one is the working directory */
			file[n++] = '/';
		strcpy(file + n, name);
		execve(file, argv, envp);
		if (errno == EACCES)
			denied = 1;
		else if (errno != ENOENT && errno != ENOTDIR)
			return -1;
	}
	errno = denied ? EACCES : ENOENT;
	return -1;
}

int
execvp(const char *name, char *const argv[])
{
	return execvpe(name, argv, environ);
}

/* How many arguments first and args are, with the NULL. */
static size_t
count(const char *first, va_list args)
{
	va_list copy;
	size_t n = 1;

	va_copy(copy, args);
	for (const char *a = first; a != NULL; a = va_arg(copy, char *))
		n++;
	va_end(copy);
	return n;
}

/* Put first and args into argv, n with the NULL. */
static void
fill(char **argv, size_t n, const char *first, va_list *args)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(*args, char *);
}

int
execl(const char *path, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	size_t n = count(arg, args);
	char *argv[n];
	fill(argv, n, arg, &args);
	va_end(args);
	return execve(path, argv, environ);
}

int
execlp(const char *name, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	size_t n = count(arg, args);
	char *argv[n];
	fill(argv, n, arg, &args);
	va_end(args);
	return execvpe(name, argv, environ);
}

/* The environment follows the NULL that ends the arguments. */
int
execle(const char *path, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	size_t n = count(arg, args);
	char *argv[n];
	fill(argv, n, arg, &args);
	char **envp = va_arg(args, char **);
	va_end(args);
	return execve(path, argv, envp);
}
