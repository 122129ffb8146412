/*
 * Calls that belong together: they set something up as it should be, and go
 * wrong only then. Single calls made up at random seldom come so far.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <sys/prf.h>
#include <unistd.h>

#include "fuzz.h"

#define HIGH_FD    48 /* out of the way of most other calls */
#define THREADS    3
#define STACK_SIZE (8 * PAGE)
#define STEPS      100 /* of a thread */

#define address(p) ((uintptr_t)(p))

/* A file at a descriptor that other calls seldom use; or an error. Not while
 * others might use it meanwhile: what they wrote to the console could be taken
 * for its end by who reads that (scripts/run). */
static long
open_high(struct rng *r, const char *path, int flags)
{
	long low, high;

	if (self.threads)
		return -1;
	low = call_args(r, SYS_openat, AT_FDCWD, address(path),
			flags | O_NONBLOCK, 0);
	if (low < 0)
		return low;
	high = call_args(r, SYS_fcntl, low, F_DUPFD, HIGH_FD, 0);
	call_args(r, SYS_close, low, 0, 0, 0);
	return high;
}

/* Text at the end of a line: a word, or a number. */
static char *
put_word(char *at, const char *word)
{
	while (*word != '\0')
		*at++ = *word++;
	return at;
}

static char *
put_number(char *at, unsigned long n)
{
	if (n > 9)
		at = put_number(at, n / 10);
	*at++ = '0' + n % 10;
	return at;
}

/* A line for a control file, of words and numbers, into buf; its length. */
static size_t
control_line(struct rng *r, char *buf)
{
	static const char *const words[] = {
	    "start",
	    "startclr",
	    "stop",
	    "hz",
	    "jitter on",
	    "jitter off",
	    "seed",
	    "hold",
	    "go",
	    "sample user",
	    "sample intr",
	    "sample idle",
	    "sample kernel",
	    "nonsense",
	    "",
	};
	char *at = put_word(buf, words[below(r, countof(words))]);

	for (unsigned int n = one_in(r, 2) ? below(r, 7) : 0; n > 0; n--) {
		*at++ = ' ';
		at = put_number(at,
				one_in(r, 2) ? below(r, 1200) : any_value(r));
	}
	if (one_in(r, 2))
		*at++ = '\n';
	return at - buf;
}

static void
control(struct rng *r)
{
	static const char *const files[] = {"/dev/kpctl", "/dev/profclock"};
	char *line = arena;
	long fd = open_high(r, files[below(r, 2)], O_RDWR);

	if (fd < 0)
		return;
	if (one_in(r, 4)) /* near the largest, that a write may pass */
		call_args(r, SYS_lseek, fd, INT64_MAX - below(r, 8), SEEK_SET,
			  0);
	for (int i = 0; i < 3; i++) {
		size_t n = control_line(r, line);

		call_args(r, SYS_write, fd, address(line), n, 0);
	}
	call_args(r, SYS_read, fd, any_pointer(r), any_length(r), 0);
	call_args(r, SYS_close, fd, 0, 0, 0);
}

/* Little is written: the line is slow. */
static void
console(struct rng *r)
{
	long fd = open_high(r, "/dev/console", O_RDWR);
	struct call wrong = {SYS_write, {fd, 0xffffffff80200000, any_value(r)}};

	if (fd < 0)
		return;
	call_args(r, SYS_write, fd, address("fuzz\n"), 5, 0);
	call_do(r, &wrong);
	call_args(r, SYS_ioctl, fd, TIOCGPGRP + below(r, 32), any_pointer(r),
		  0);
	call_args(r, SYS_read, fd, any_pointer(r), any_length(r), 0);
	call_args(r, SYS_close, fd, 0, 0, 0);
}

static void
prf(struct rng *r)
{
	static const char *const files[] = {"/dev/prf", "/dev/prf0",
					    "/dev/prf1"};
	unsigned long *table = (unsigned long *)(arena + PAGE), n;
	long fd = open_high(r, files[below(r, 3)], O_RDWR);

	if (fd < 0)
		return;
	n = 3 + below(r, 1000);
	for (unsigned long i = 0; i < n; i++)
		table[i] = 0xffffffff80200000 + 64 * i;
	if (one_in(r, 4))
		table[below(r, n)] = any_value(r);
	call_args(r, SYS_write, fd, address(table), n * sizeof(long), 0);
	call_args(r, SYS_ioctl, fd, PRF_SETSTATE, any_value(r), 0);
	call_args(r, SYS_read, fd, any_pointer(r), any_length(r), 0);
	call_args(r, SYS_write, fd, any_pointer(r), 8 * any_length(r), 0);
	if (!one_in(r, 4))
		call_args(r, SYS_ioctl, fd, PRF_SETSTATE, 0, 0);
	call_args(r, SYS_close, fd, 0, 0, 0);
}

static void
pcs(struct rng *r)
{
	static const unsigned int requests[] = {
	    PROF_KERNEL, PROF_ALL, PROF_GROUP, PROF_LIST, PROF_STACK, PCS_END,
	};
	int *list = (int *)(arena + 2 * PAGE);
	long fd = open_high(r, "/dev/pcs", O_RDONLY);

	if (fd < 0)
		return;
	call_args(r, SYS_ioctl, fd, BUF_INCR, any_value(r), 0);
	for (int i = 0; i < 3; i++) {
		list[0] = below(r, MAX_LIST + 2);
		for (int k = 1; k <= MAX_LIST; k++)
			list[k] = one_in(r, 8) ? (int)any_value(r) : self.pid;
		call_args(
		    r, SYS_ioctl, fd, requests[below(r, countof(requests))],
		    one_in(r, 3) ? (unsigned long)self.pid : address(list), 0);
	}
	call_args(r, SYS_ioctl, fd, PCS_END, 0, 0);
	call_args(r, SYS_read, fd, any_pointer(r), any_length(r), 0);
	call_args(r, SYS_read, fd, any_pointer(r), 512, 0);
	call_args(r, SYS_close, fd, 0, 0, 0);
}

/* A histogram over all the text, in memory that may not be there; or the
 * addresses themselves. */
static void
histogram(struct rng *r)
{
	long number = SYS_profil + below(r, 3);

	if (number == SYS_pcsample)
		call_args(r, number, any_pointer(r), any_length(r), 0, 0);
	else
		call_args(r, number, any_pointer(r), any_length(r), 0x10000,
			  one_in(r, 2) ? 0x10000 : any_value(r));
}

static void
pipes(struct rng *r)
{
	int *fd = (int *)(arena + 3 * PAGE);
	unsigned int first = below(r, 2);

	if (call_args(r, SYS_pipe2, address(fd), 0, 0, 0) < 0)
		return;
	call_args(r, SYS_fcntl, fd[0], F_SETFL, O_NONBLOCK, 0);
	call_args(r, SYS_fcntl, fd[1], F_SETFL, O_NONBLOCK, 0);
	call_args(r, SYS_write, fd[1], address(arena), below(r, 0x11000), 0);
	call_args(r, SYS_read, fd[0], any_pointer(r), any_length(r), 0);
	call_args(r, SYS_close, fd[first], 0, 0, 0);
	call_args(r, SYS_write, fd[1], any_pointer(r), any_length(r), 0);
	call_args(r, SYS_close, fd[!first], 0, 0, 0);
}

/* A file that has holes, is cut, and run: what it starts with names who is to
 * run it. */
static void
files(struct rng *r)
{
	static const char *const starts[] = {
	    "#!/bin/true\n", "#!s\n", "#!/bin/true", "#! \t\n", "\177ELF\2\1\1",
	};
	const char *start = starts[below(r, countof(starts))];
	long fd = call_args(r, SYS_openat, AT_FDCWD, address("s"),
			    O_RDWR | O_CREAT, 0777);

	call_args(r, SYS_pwrite64, fd, any_pointer(r), any_length(r),
		  below(r, 1 << 24));
	call_args(r, SYS_ftruncate, fd, below(r, 1 << 25), 0, 0);
	call_args(r, SYS_pread64, fd, any_pointer(r), any_length(r),
		  below(r, 1 << 24));
	call_args(r, SYS_pwrite64, fd, address(start), strlen(start), 0);
	call_args(r, SYS_close, fd, 0, 0, 0);
	if (one_in(r, 20))
		call_args(r, SYS_execve, address("s"), any_pointer(r),
			  any_pointer(r), 0);
}

/* The heap grows, is filled, and shrinks. */
static void
heap(struct rng *r)
{
	char *end = arena + ARENA_SIZE + below(r, ARENA_SIZE);
	long fd = call_args(r, SYS_openat, AT_FDCWD, address("/dev/zero"),
			    O_RDONLY, 0);

	call_args(r, SYS_brk, address(end), 0, 0, 0);
	call_args(r, SYS_read, fd, address(arena + PAGE), 64 * PAGE, 0);
	call_args(r, SYS_brk, address(arena + ARENA_SIZE), 0, 0, 0);
	call_args(r, SYS_close, fd, 0, 0, 0);
}

/* The library's, of clone: a thread begins with start(arg). */
long __clone_thread(unsigned long flags, void *sp, int *parent_tid, void *tp,
		    int *child_tid, void (*start)(void *), void *arg);

static void
thread_run(void *given)
{
	struct rng r = *(struct rng *)given;

	child_steps(&r, STEPS);
	for (;;)
		call_args(&r, SYS_exit, 0, 0, 0, 0);
}

/* Each has a stack for good, so there are only so many of them. */
static void
threads(struct rng *r)
{
	static char stack[THREADS][STACK_SIZE] __attribute__((aligned(16)));
	static struct rng rng[THREADS];
	static unsigned int used; /* atomic */
	unsigned int i = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);

	if (i >= THREADS)
		return;
	self.threads = true;
	rng[i].state = rng_next(r);
	__clone_thread(
	    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
	    stack[i] + STACK_SIZE, NULL, NULL, NULL, thread_run, &rng[i]);
}

/* A handler that changes what it returns to. */
static void
frames(struct rng *r)
{
	call_args(r, SYS_kill, self.pid, SIGUSR2, 0, 0);
}

/* A signal's return that none came before: it ends the process. */
static void
false_return(struct rng *r)
{
	unsigned long *frame = (unsigned long *)(arena + 4 * PAGE);

	if (!one_in(r, 20))
		return;
	for (int i = 0; i < 200; i++)
		frame[i] = rng_next(r);
	frame[38] |= 1ul << (32 + below(r, 31)); /* pc: in no text */
	asm volatile("mv sp, %0\n"
		     "li a7, %1\n"
		     "ecall\n"
		     "unimp\n"
		     :
		     : "r"(one_in(r, 4) ? any_value(r) : address(frame)),
		       "i"(SYS_rt_sigreturn)
		     : "memory", "a7");
}

static void
forks(struct rng *r)
{
	if (self.depth > 1 || self.kids > 3)
		return;
	call_args(r, SYS_clone, SIGCHLD, 0, 0, 0);
	if (one_in(r, 2))
		call_args(r, SYS_wait4, -1ul, any_pointer(r), 0, 0);
}

void
script_run(struct rng *r)
{
	static void (*const scripts[])(struct rng *) = {
	    control, console, prf,     pcs,   histogram, pipes,
	    files,   heap,    threads, forks, frames,    false_return,
	};

	scripts[below(r, countof(scripts))](r);
}
