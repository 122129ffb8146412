/*
 * A program compiled with -pg: every call is counted, once. With an argument
 * it makes a profile for tests/test_prof.py:
 *
 *   calls  gmon.out, by its exit: f1 2000 calls, 300 ticks; f2 1000, 100; f3 1
 *   mon    the same as mon.out
 *   full   a counter that stays at 65535
 *   few    mon.out with one cell, for one function
 *   burn   half a second in burn
 */
#include <mon.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "../profil.h"
#include "calls.h"

#define THREADS 6
#define TIMES   20000
#define SIGNALS 50
#define HZ_TEST 250

#define MON_CELLS    100
#define MON_COUNTERS 1024

static unsigned char file[1 << 20];
static ssize_t size;
static volatile int handled;

static uint64_t
number(size_t at, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, file + at, bytes);
	return value;
}

static bool
read_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	size = fd < 0 ? -1 : read(fd, file, sizeof(file));
	close(fd);
	unlink(path);
	return size > 61;
}

static bool
written(void)
{
	unlink("gmon.out");
	return monitor(0) == 0 && read_file("gmon.out");
}

/* Is pc in this function, one of calls.c? */
static bool
inside(uint64_t pc, void *function)
{
	return function == NULL || pc - (uintptr_t)function < 64;
}

/* Calls from one function, NULL any, to another. */
static uint64_t
calls(void *from, void *to)
{
	uint64_t sum = 0;
	ssize_t at = 20 + 41 + 2 * number(37, 4);

	for (; at + 21 <= size; at += 21)
		if (file[at] == 1 && inside(number(at + 1, 8), from) &&
		    inside(number(at + 9, 8), to))
			sum += number(at + 17, 4);
	return at == size ? sum : 0;
}

/* Ticks of a function, NULL of all. */
static uint64_t
ticks(void *function)
{
	uint64_t sum = 0, low = number(21, 8);

	for (size_t i = 0; i < number(37, 4); i++)
		if (inside(low + 2 * i, function))
			sum += number(61 + 2 * i, 2);
	return sum;
}

static void
begin(void)
{
	extern char _start[], etext[];

	monstartup(_start, etext);
}

static void
check_form(void)
{
	extern char _start[], etext[];

	ctl(PROFCLOCK, "hold");
	ctl(PROFCLOCK, "hz %d", HZ_TEST);
	begin();
	f3(1000);
	hit((uintptr_t)f1 + 8, 300);
	hit((uintptr_t)f2 + 8, 100);
	hit(0, 1);
	CHECK(written(), "gmon.out on demand");
	CHECK(memcmp(file, "gmon\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20) == 0,
	      "its header");
	CHECK(file[20] == 0 && number(21, 8) == (uintptr_t)_start &&
		  number(29, 8) == ((uintptr_t)etext + 1) / 2 * 2,
	      "the histogram is of the whole text");
	CHECK(number(37, 4) * 2 == number(29, 8) - number(21, 8),
	      "a counter for each 2 bytes");
	CHECK(number(41, 4) == HZ_TEST, "the rate");
	CHECK(memcmp(file + 45, "seconds\0\0\0\0\0\0\0\0s", 16) == 0,
	      "in seconds");
	CHECK(ticks(f1) == 300 && ticks(f2) == 100 && ticks(NULL) == 400,
	      "its ticks");
	CHECK(calls(NULL, f1) == 2000 && calls(f3, f1) == 1000 &&
		  calls(f2, f1) == 1000,
	      "f1 is called 2000 times, by two");
	CHECK(calls(NULL, f2) == 1000 && calls(f3, f2) == 1000,
	      "f2 is called 1000 times");
	CHECK(calls(NULL, f3) == 1, "f3 is called once");
	ctl(PROFCLOCK, "hz 100");
	ctl(PROFCLOCK, "go");
}

static void *
thread(void *arg)
{
	(void)arg;
	f3(TIMES);
	return NULL;
}

static void
check_threads(void)
{
	pthread_t t[THREADS];

	begin();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(written() && calls(NULL, f3) == THREADS &&
		  calls(f3, f2) == THREADS * TIMES &&
		  calls(f3, f1) == THREADS * TIMES &&
		  calls(f2, f1) == THREADS * TIMES,
	      "no call of threads at once is lost");
}

static void
handler(int sig)
{
	(void)sig;
	f1();
	handled++;
}

static void
check_signals(void)
{
	struct itimerval often = {{0, 10000}, {0, 10000}}, off = {{0}, {0}};
	uint64_t n = 0;

	signal(SIGALRM, handler);
	begin();
	setitimer(ITIMER_REAL, &often, NULL);
	for (; handled < SIGNALS; n++)
		f2();
	setitimer(ITIMER_REAL, &off, NULL);
	CHECK(written() && calls(NULL, f2) == n &&
		  calls(NULL, f1) == n + handled,
	      "nor of a signal handler, or of whom it interrupts");
	signal(SIGALRM, SIG_DFL);
	alarm(DEADLINE);
}

static void
check_control(void)
{
	begin();
	moncontrol(0);
	f3(5);
	moncontrol(1);
	f2();
	CHECK(written() && calls(NULL, f1) == 1 && calls(NULL, f3) == 0,
	      "moncontrol halts the counting of calls");
	monstartup((void *)f2, (char *)f2 + 64);
	f3(5);
	CHECK(written() && calls(NULL, f2) == 5 && calls(NULL, NULL) == 5,
	      "monstartup: only calls of that text");
}

/* How a child may end. */
static void
end_exit(void)
{
	exit(3);
}

static void
end_at_once(void)
{
	_exit(3);
}

static void
end_prefix(void)
{
	setenv("GMON_OUT_PREFIX", "out", 1);
	exit(3);
}

static void
end_folder(void)
{
	close(STDERR_FILENO);
	mkdir("gmon.out", 0777);
	exit(3);
}

static void
end_kill(void)
{
	raise(SIGKILL);
}

static pid_t
child(void (*end)(void), int *status)
{
	pid_t pid = fork();

	if (pid == 0) {
		f2();
		end();
	}
	waitpid(pid, status, 0);
	return pid;
}

static void
check_children(void)
{
	static void (*const silent[])(void) = {end_at_once, abort, end_kill};
	char name[32];
	int status;

	begin();
	f3(5);
	child(end_exit, &status);
	CHECK(WEXITSTATUS(status) == 3 && read_file("gmon.out") &&
		  calls(NULL, f2) == 1 && calls(NULL, f3) == 0,
	      "a child's gmon.out, with what it did itself");
	snprintf(name, sizeof(name), "out.%d", child(end_prefix, &status));
	CHECK(read_file(name) && calls(NULL, f2) == 1 && !read_file("gmon.out"),
	      "GMON_OUT_PREFIX: its own file");
	for (int i = 0; i < 3; i++)
		child(silent[i], &status);
	CHECK(!read_file("gmon.out"), "_exit, abort and signals write none");
	child(end_folder, &status);
	CHECK(WEXITSTATUS(status) == 3 && rmdir("gmon.out") == 0,
	      "a failure to write doesn't change the status");
	CHECK(written() && calls(NULL, f2) == 5, "the parent has only its own");
}

/* mon.out, in counters of 2 bytes from f1 on. */
static bool
mon(int ncells)
{
	static HISTCOUNTER buffer[4 * MON_CELLS * 2 + MON_COUNTERS];
	int n = 8 * ncells + MON_COUNTERS;

	if (monitor((void *)f1, (char *)f1 + 2 * MON_COUNTERS, buffer, n,
		    ncells) < 0)
		return false;
	f3(1000);
	hit((uintptr_t)f1 + 8, 300);
	hit((uintptr_t)f2 + 8, 100);
	return monitor(0) == 0;
}

static void
check_mon(void)
{
	uint64_t sum = 0;

	ctl(PROFCLOCK, "hold");
	CHECK(mon(MON_CELLS) && read_file("mon.out"), "mon.out of -pg");
	for (size_t i = 0; i < number(16, 8); i++) {
		uint64_t pc = number(24 + 16 * i, 8);

		if (inside(pc, f1) || inside(pc, f2) || inside(pc, f3))
			sum += number(32 + 16 * i, 8);
	}
	CHECK(sum == 3001, "calls are counted by function");
	CHECK(size == (ssize_t)(24 + 16 * number(16, 8) + 2 * MON_COUNTERS),
	      "only cells with calls are in the file");
	ctl(PROFCLOCK, "go");
}

static FUNCTION int
burn(void)
{
	burn_us(500000);
	return 0;
}

/* What the tests on the host look at. */
static int
make(const char *what)
{
	if (strcmp(what, "mon") == 0)
		return mon(MON_CELLS) ? 0 : 1;
	if (strcmp(what, "few") == 0)
		return mon(1) ? 0 : 1;
	if (strcmp(what, "burn") == 0)
		return burn();
	if (strcmp(what, "full") == 0)
		hit((uintptr_t)f1 + 8, 70000);
	f3(1000);
	hit((uintptr_t)f1 + 8, 300);
	hit((uintptr_t)f2 + 8, 100);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return make(argv[1]);
	scratch_enter("gmon");
	check_form();
	check_threads();
	check_signals();
	check_control();
	check_children();
	check_mon();
	return check_done();
}
