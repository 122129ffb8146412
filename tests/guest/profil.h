/*
 * What the tests of profil share: synthetic ticks of this process, a buffer of
 * counters, and what both flavours have in common.
 */
#ifndef PROFIL_H
#define PROFIL_H

#include <pthread.h>

#include "helpers.h"
#include "profiling.h"

#define TEXT  0x10000UL /* the address that Offset says */
#define SLOTS 1024

static unsigned short buf[SLOTS + 1]; /* the last is none of the kernel's */

/* The process is seen at pc by so many ticks, in this mode. */
static inline void
tick(const char *mode, pid_t pid, unsigned long pc, unsigned int count)
{
	if (ctl(PROFCLOCK, "sample %s 0 %d 0 0x%lx %u", mode, pid, pc, count))
		printf("no sample: %s\n", strerror(errno));
}

static inline void
hit(unsigned long pc, unsigned int count)
{
	tick("user", getpid(), pc, count);
}

/* A thread that is there, and hits TEXT once when hitter_hit says so. */
struct hitter {
	pthread_t thread;
	int gate[2];
};

static inline void *
hitter_run(void *hitter)
{
	struct hitter *h = hitter;
	char byte;

	if (read(h->gate[0], &byte, 1) == 1)
		hit(TEXT, 1);
	return NULL;
}

static inline void
hitter_make(struct hitter *h)
{
	if (pipe(h->gate) != 0 ||
	    pthread_create(&h->thread, NULL, hitter_run, h) != 0)
		printf("no thread: %s\n", strerror(errno));
}

static inline void
hitter_hit(struct hitter *h)
{
	write(h->gate[1], "", 1);
	pthread_join(h->thread, NULL);
	close(h->gate[0]);
	close(h->gate[1]);
}

/* Is this counter n, and every other 0? Then all are 0. */
static inline bool
only(unsigned int slot, unsigned int n)
{
	unsigned int sum = 0, was = buf[slot];

	for (int i = 0; i <= SLOTS; i++)
		sum += buf[i];
	memset(buf, 0, sizeof(buf));
	return was == n && sum == n;
}

static inline bool
none(void)
{
	return only(0, 0);
}

/* It's on, from TEXT, into buf: on in both after a fork, with pages of their
 * own. The child's exit status is what it saw. */
static inline void
check_fork(const char *clause)
{
	hit(TEXT, 3);
	pid_t pid = fork();
	if (pid == 0) {
		hit(TEXT, 4);
		_exit(buf[0]);
	}
	CHECK(child_wait(pid) == 7, "%s on in the child of a fork", clause);
	hit(TEXT, 2);
	CHECK(only(0, 5), "%s on in the parent, whose counters are its own",
	      clause);
}

/* A child executes this program, which must then call check_exec_again. */
static inline void
check_exec(const char *clause, const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		hit(TEXT, 1);
		execlp(path, path, "again", NULL);
		_exit(100);
	}
	CHECK(child_wait(pid) == 0, "%s exec turns it off", clause);
	hit(TEXT, 1);
	CHECK(only(0, 1), "%s but not in the parent", clause);
}

static inline void
check_exec_again(int argc)
{
	if (argc > 1) {
		hit(TEXT, 1);
		_exit(none() ? 0 : 1);
	}
}

/* It's on: ticks that aren't of this process. */
static inline void
check_others(const char *clause)
{
	tick("user", getppid(), TEXT, 1);
	tick("user", 0, TEXT, 1);
	CHECK(none(), "%s another process's ticks aren't counted", clause);
}

/* It's on, for all of text. */
static inline void
check_idle(const char *clause)
{
	tick("idle", getpid(), TEXT, 1);
	CHECK(none(), "%s nor are an idle hart's", clause);
}

/* Ticks in the kernel count where the call that they hit returns to. */
static inline void
check_kernel(const char *clause)
{
	unsigned int sum = 0;

	profil(buf, 16, (unsigned long)write, 0xffff);
	tick("kernel", getpid(), 0xffffffff80200000, 3);
	tick("intr", getpid(), 0xffffffff80200000, 4);
	profil(buf, 16, (unsigned long)write, 0);
	for (int i = 0; i < 8; i++)
		sum += buf[i];
	CHECK(sum == 7, "%s ticks in the kernel are its caller's", clause);
	memset(buf, 0, sizeof(buf));
}

#endif
