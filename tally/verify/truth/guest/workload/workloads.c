/*
 * The workloads. Each does one kind of thing, so that what goes wrong with it
 * can be found. Lengths of loops have no factor 5 in common with the 25
 * instructions after which the clock's steps of 100 ns and an instruction's
 * 2^N ns meet again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Two instructions a round. */
static inline __attribute__((always_inline)) void
rounds(long n)
{
	asm volatile("1: addi %0, %0, -1; bnez %0, 1b" : "+r"(n));
}

/* --- split: user mode alone, shares known to be 5 : 3 : 2 --- */

static __attribute__((noipa)) void
split_half(void)
{
	rounds(503);
}

static __attribute__((noipa)) void
split_three_tenths(void)
{
	rounds(302);
}

static __attribute__((noipa)) void
split_fifth(void)
{
	rounds(201);
}

static void
split(void)
{
	for (int i = 0; i < 1000; i++) {
		split_half();
		split_three_tenths();
		split_fifth();
	}
}

/* --- nullcall: the shortest system call --- */

static void
nullcall(void)
{
	for (int i = 0; i < 10000; i++)
		getppid();
}

/* --- levels: code that masks all interrupts but the timer's --- */

/* So many rounds, and not for so long: the time that a sample takes would be
 * missing from what is executed there. */
static void
levels(void)
{
	static const char *const lines[] = {"spin 0 1000000 1900",
					    "spin 1 1000000 1300",
					    "spin 5 1000000 3100"};
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/ktest", O_WRONLY);
	for (size_t i = 0; i < 10 * COUNT(lines); i++) {
		const char *line = lines[i % COUNT(lines)];

		write(fd, line, strlen(line));
	}
}

/* --- console: handlers of a device's interrupts --- */

static void
console(void)
{
	static const char line[] = "how much wood would a woodchuck chuck\n";

	for (int i = 0; i < 300; i++)
		write(STDERR_FILENO, line, sizeof(line) - 1);
}

/* --- forkexec --- */

static void
forkexec(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/workload", "workload", NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
}

/* --- pipe: a byte into it and out again --- */

static int own[2];

static void
pipe_pass(void)
{
	char c = 'x';

	if (own[1] == 0 && pipe(own) < 0)
		die("no pipe");
	for (int i = 0; i < 1000; i++) {
		write(own[1], &c, 1);
		read(own[0], &c, 1);
	}
}

/* --- pingpong: two processes and two pipes --- */

static int ping[2], pong[2];

static void
pingpong_echo(void)
{
	char c;

	read(ping[0], &c, 1);
	write(pong[1], &c, 1);
}

static void
pingpong_start(unsigned int harts)
{
	(void)harts;
	if (pipe(ping) < 0 || pipe(pong) < 0)
		die("no pipe");
	helper(pingpong_echo);
}

/* Each round is of another length: how long the kernel's part takes is not
 * known here, and might be in step with the clock. */
static void
pingpong(void)
{
	char c = 'x';

	for (int i = 0; i < 500; i++) {
		write(ping[1], &c, 1);
		read(pong[0], &c, 1);
		rounds(1 + i % 24);
	}
}

/* --- faults: memory that is touched for the first time --- */

static void
faults(void)
{
	enum { PAGE = 4096, PAGES = 61 };

	for (int i = 0; i < 50; i++) {
		char *heap = sbrk(PAGES * PAGE);

		if (heap == (char *)-1)
			die("no memory");
		for (int page = 0; page < PAGES; page++)
			heap[page * PAGE] = 1;
		sbrk(-PAGES * PAGE);
	}
}

/* --- instep: busy just after each tick, asleep before the next --- */

static __attribute__((noipa)) void
instep_work(void)
{
	rounds(6001);
}

static void
instep(void)
{
	struct timespec moment = {.tv_nsec = 1000000}; /* till a tick */

	for (int i = 0; i < 20; i++) {
		nanosleep(&moment, NULL);
		instep_work();
	}
}

/* --- threads: they share counters and a lock --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long shared;

static __attribute__((noipa)) void
threads_outside(void)
{
	rounds(401);
}

static __attribute__((noipa)) void
threads_inside(void)
{
	for (int i = 0; i < 67; i++)
		shared = shared * 3 + 1;
}

static void
threads(void)
{
	for (int i = 0; i < 200; i++) {
		threads_outside();
		pthread_mutex_lock(&lock);
		threads_inside();
		pthread_mutex_unlock(&lock);
	}
}

static void *
threads_more(void *arg)
{
	for (;;)
		threads();
	return arg;
}

static void
threads_start(unsigned int harts)
{
	pthread_t t;

	for (unsigned int i = 0; i < 2 * harts; i++)
		if (pthread_create(&t, NULL, threads_more, NULL) != 0)
			die("no thread");
}

/* --- locks: two of them, of which each half of the threads wants one --- */

static pthread_mutex_t either[2] = {PTHREAD_MUTEX_INITIALIZER,
				    PTHREAD_MUTEX_INITIALIZER};

static __attribute__((noipa)) void
locks_first(void)
{
	rounds(7001);
}

static __attribute__((noipa)) void
locks_second(void)
{
	rounds(3001);
}

static __attribute__((noipa)) void
locks_outside(void)
{
	rounds(2003);
}

static void
locks_pass(unsigned int which)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&either[which]);
		if (which == 0)
			locks_first();
		else
			locks_second();
		pthread_mutex_unlock(&either[which]);
		locks_outside();
	}
}

static void
locks(void)
{
	locks_pass(0);
}

static void *
locks_more(void *which)
{
	for (;;)
		locks_pass((unsigned long)which);
	return NULL;
}

static void
locks_start(unsigned int harts)
{
	pthread_t t;

	for (unsigned long i = 1; i < 2 * harts; i++)
		if (pthread_create(&t, NULL, locks_more, (void *)(i % 2)) != 0)
			die("no thread");
}

/* --- files: made, written, read, removed --- */

static void
files_one(const char *name)
{
	static char data[6007];
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 7; i++)
		write(fd, data, sizeof(data));
	lseek(fd, 0, SEEK_SET);
	while (read(fd, data, sizeof(data)) > 0)
		;
	close(fd);
	unlink(name);
}

static void
files(void)
{
	char name[40];

	snprintf(name, sizeof(name), "/tmp/workload.%d", getpid());
	for (int i = 0; i < 20; i++)
		files_one(name);
}

/* --- signals: a handler in user mode, and the return from it --- */

static volatile sig_atomic_t handled;

static void
signals_handler(int number)
{
	handled += number;
}

static void
signals_start(unsigned int harts)
{
	(void)harts;
	signal(SIGUSR1, signals_handler);
}

static void
signals(void)
{
	for (int i = 0; i < 2000; i++)
		kill(getpid(), SIGUSR1);
}

/* --- tailcalls: a handler that ends in a jump, and what it jumps to --- */

static __attribute__((noipa)) void
tailcalls_last(int number)
{
	rounds(151);
	handled += number;
}

static __attribute__((noipa)) void
tailcalls_handler(int number)
{
	rounds(101);
	tailcalls_last(number + 1);
}

static void
tailcalls_start(unsigned int harts)
{
	(void)harts;
	signal(SIGUSR1, tailcalls_handler);
}

/* --- tree: processes that have others, all of which execute a program --- */

static void
tree_grow(int depth)
{
	pid_t pid[2];

	for (size_t i = 0; i < COUNT(pid); i++) {
		pid[i] = fork();
		if (pid[i] != 0)
			continue;
		if (depth > 1)
			tree_grow(depth - 1);
		execl("/bin/workload", "workload", NULL);
		_exit(127);
	}
	for (size_t i = 0; i < COUNT(pid); i++)
		waitpid(pid[i], NULL, 0);
}

static void
tree(void)
{
	tree_grow(2);
}

/* --- births: processes that live for a thousand instructions --- */

static __attribute__((noipa)) void
births_grind(void)
{
	rounds(503);
}

static void
births(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			births_grind();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* --- text: real programs over a real text --- */

static unsigned int text_harts;

static void
text_start(unsigned int harts)
{
	text_harts = harts;
}

static void
text(void)
{
	static char *sort[] = {"/bin/sort", "-o", "/dev/null", "/extra/text",
			       NULL};
	static char *grep[] = {"/bin/grep", "-q", "[a-z]*ing .*zzz",
			       "/extra/text", NULL};
	unsigned int n = 0;

	for (unsigned int i = 0; i < text_harts; i++) {
		program(sort);
		program(grep);
		n += 2;
	}
	while (n-- && wait(NULL) > 0)
		;
}

const struct workload workloads[] = {
    {"split", split, NULL, true, false},
    {"nullcall", nullcall, NULL, true, false},
    {"levels", levels, NULL, false, false},
    {"console", console, NULL, false, true},
    {"forkexec", forkexec, NULL, true, false},
    {"pipe", pipe_pass, NULL, true, false},
    {"pingpong", pingpong, pingpong_start, false, false},
    {"faults", faults, NULL, true, false},
    {"instep", instep, NULL, false, false},
    {"threads", threads, threads_start, false, false},
    {"locks", locks, locks_start, false, false},
    {"files", files, NULL, true, false},
    {"signals", signals, signals_start, true, false},
    {"tailcalls", signals, tailcalls_start, true, false},
    {"tree", tree, NULL, true, false},
    {"births", births, NULL, true, false},
    {"text", text, text_start, false, false},
};
const unsigned int nworkloads = COUNT(workloads);
