/*
 * What the tests of processes share: how a child ended, what the system says
 * of it, a gate that holds it back, and waiting for a condition.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <sched.h>
#include <signal.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "helpers.h"

#define NS_PER_S  1000000000L
#define NS_PER_MS 1000000L
#define WAIT_MAX  (30 * NS_PER_S * patience()) /* who waits longer has failed */
#define NO_PID    32767 /* the last one: few boots get that far */

/* For CHECK_FAULTS, where null is no error. Read-only isn't among them. */
#define BAD_BUT_NULL (bad_addresses + 2)

/* Time since boot. */
static inline long
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Wait until the condition holds; did it, in time? */
#define AWAIT(condition)                                          \
	({                                                        \
		long end_ = now_ns() + WAIT_MAX;                  \
		bool held_;                                       \
		while (!(held_ = (condition)) && now_ns() < end_) \
			sched_yield();                            \
		held_;                                            \
	})

/* The status of a child that has ended, or been stopped (with options); -1:
 * there is none. */
static inline int
status_of(pid_t pid, int options)
{
	int status;

	return pid > 0 && waitpid(pid, &status, options) == pid ? status : -1;
}

static inline bool
exited(pid_t pid, int code)
{
	int status = status_of(pid, 0);

	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static inline bool
killed(pid_t pid, int sig)
{
	int status = status_of(pid, 0);

	return status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

static inline bool
stopped(pid_t pid, int sig)
{
	int status = status_of(pid, WUNTRACED);

	return status >= 0 && WIFSTOPPED(status) && WSTOPSIG(status) == sig;
}

/* A child that sleeps until it is killed. */
static inline pid_t
sleeper_start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		while (pause() < 0)
			;
	return pid;
}

/* End a child for good, whatever it does. */
static inline void
child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	status_of(pid, 0);
}

/* What psinfo has of a process; pid 0: there is no such process. */
static inline struct psinfo
info_of(pid_t pid)
{
	static struct psinfo all[128];
	long n = psinfo(all, 128);

	for (long i = 0; i < n && i < 128; i++)
		if (all[i].pid == pid)
			return all[i];
	return (struct psinfo){0};
}

/* R, S, T or Z; 0: there is no such process. */
static inline char
state_of(pid_t pid)
{
	return info_of(pid).state;
}

static inline struct sysinfo
system_info(void)
{
	struct sysinfo info;

	sysinfo(&info, sizeof(info));
	return info;
}

static inline long
pages_free(void)
{
	return system_info().pages_free;
}

/* How many blocks of memory the kernel has given out, for whatever. */
static inline long
blocks_used(void)
{
	FILE *f = fopen("/dev/ktest", "r");
	long n = -1;

	if (f != NULL) {
		fscanf(f, "blocks %ld", &n);
		fclose(f);
	}
	return n;
}

/* A gate, closed at first: who passes waits until it is opened, and for each
 * opening one may pass. */
struct gate {
	int fd[2];
};

static inline struct gate
gate_make(void)
{
	struct gate g;

	pipe(g.fd);
	return g;
}

static inline void
gate_open(struct gate g)
{
	write(g.fd[1], "", 1);
}

static inline bool
gate_pass(struct gate g)
{
	char c;

	while (read(g.fd[0], &c, 1) != 1)
		if (errno != EINTR)
			return false;
	return true;
}

static inline void
gate_remove(struct gate g)
{
	close(g.fd[0]);
	close(g.fd[1]);
}

#define SYSCALL(number, name) SYS_##name = number,
enum {
#include <sys/syscalls.h>
};
#undef SYSCALL

#include <sched.h>

#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)

/* A thread with nothing of the library's: its tid, or the negative errno. */
long __clone_thread(unsigned long flags, void *sp, int *parent_tid, void *tp,
		    int *child_tid, void (*start)(void *), void *arg);

static inline long
thread_make(void (*start)(void *), void *sp)
{
	return __clone_thread(THREAD_FLAGS, sp, NULL, NULL, NULL, start, NULL);
}

/* A system call by its number: its result, or the negative errno. */
static inline long
call(long number, long arg0, long arg1)
{
	register long a7 asm("a7") = number;
	register long a0 asm("a0") = arg0;
	register long a1 asm("a1") = arg1;

	asm volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1) : "memory");
	return a0;
}

#endif
