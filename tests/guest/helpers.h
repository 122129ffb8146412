/*
 * What the tests of files share: a folder to work in, children, addresses
 * that no call may take.
 */
#ifndef HELPERS_H
#define HELPERS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

#define PAGE     4096
#define DEADLINE (100 * patience()) /* s: who waits longer dies of SIGALRM */

/* Work in a new folder of /tmp, and not for ever. */
static inline void
scratch_enter(const char *name)
{
	alarm(DEADLINE);
	if (chdir("/tmp") < 0 || mkdir(name, 0777) < 0 || chdir(name) < 0)
		printf("no folder %s: %s\n", name, strerror(errno));
}

/* The folder must be empty again. */
static inline void
scratch_leave(const char *name)
{
	CHECK(chdir("/tmp") == 0 && rmdir(name) == 0, "nothing is left over");
}

/* How a child ended: its exit status; or -1, by a signal. */
static inline int
child_wait(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Run what gives its exit status in a child. It prints nothing. */
static inline pid_t
child_start(int (*run)(void))
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	return pid;
}

static inline int
child_run(int (*run)(void))
{
	return child_wait(child_start(run));
}

/* A file made anew that holds this text. 0, or -1. */
static inline int
file_make(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	ssize_t size = strlen(text);
	bool good = fd >= 0 && write(fd, text, size) == size;

	return close(fd) == 0 && good ? 0 : -1;
}

/* Does the file hold just this text? */
static inline bool
file_holds(const char *path, const char *text)
{
	char buf[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	return n == (ssize_t)strlen(text) && memcmp(buf, text, n) == 0;
}

/* The end of the heap, where a mapped page is followed by none. */
char *__brk(char *end);

static inline char *
memory_end(void)
{
	free(malloc(1)); /* there is a heap */
	return __brk(NULL);
}

/* Addresses at which a process has nothing; and one that it may only read,
 * which comes first. */
struct bad_address {
	const char *name;
	void *address;
};

static const struct bad_address bad_addresses[] = {
    {"read-only", (void *)scratch_enter},
    {"null", NULL},
    {"unmapped", (void *)0x70000000},
    {"kernel", (void *)0xffffffff80200000},
    {"direct map", (void *)0xffffffff00000000},
    {"non-canonical", (void *)0x4000000000000000},
    {NULL, NULL},
};

#define CHECK_FAULTS(first, what, call)                                       \
	for (const struct bad_address *b = first; b->name != NULL; b++) {     \
		void *bad = b->address;                                       \
		CHECK_ERRNO(call, EFAULT, "%s: a %s pointer is EFAULT", what, \
			    b->name);                                         \
	}

/* The call, with `bad` as what it reads from (_IN) or stores at (_OUT). */
#define CHECK_FAULTS_IN(what, call)  CHECK_FAULTS(bad_addresses + 1, what, call)
#define CHECK_FAULTS_OUT(what, call) CHECK_FAULTS(bad_addresses, what, call)

#endif
