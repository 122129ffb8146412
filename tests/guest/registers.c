/*
 * A program's floating-point registers are its own: other programs and
 * threads, and handlers of signals, leave them as they were. And a handler's
 * stack is aligned, whatever it interrupts.
 */
#include <pthread.h>

#include "catch.h"
#include "profiling.h"

#define REGISTERS 32
#define WORKERS   4
#define ROUNDS    300

/* f0 to f31 from an array, or to it. No function that C knows of: it would put
 * back those that a function must keep. */
void fp_load(const uint64_t value[REGISTERS]);
void fp_store(uint64_t value[REGISTERS]);

asm(".macro each op\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
    "24,25,26,27,28,29,30,31\n"
    "\\op f\\n, 8*\\n(a0)\n"
    ".endr\n"
    "ret\n"
    ".endm\n"
    ".text\n"
    "fp_load: each fld\n"
    "fp_store: each fsd\n");

/* What fill gives them; all are zero for seed 0. */
static void
values(uint64_t seed, uint64_t value[REGISTERS])
{
	for (unsigned int i = 0; i < REGISTERS; i++)
		value[i] = seed != 0 ? seed << 32 | i : 0;
}

static void
fill(uint64_t seed)
{
	uint64_t value[REGISTERS];

	values(seed, value);
	fp_load(value);
	asm volatile("fscsr %0" ::"r"(seed % 32));
}

static bool
hold(uint64_t seed)
{
	uint64_t value[REGISTERS], wanted[REGISTERS], status;

	fp_store(value);
	asm volatile("frcsr %0" : "=r"(status));
	values(seed, wanted);
	return status == seed % 32 && memcmp(value, wanted, sizeof(value)) == 0;
}

/* --- Others --- */

static bool
keep_while_others_run(uint64_t seed)
{
	bool good = true;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t end = now_ns() + NS_PER_MS / 5;

		fill(seed + i);
		if (i % 2)
			sched_yield();
		else
			while ((uint64_t)now_ns() < end)
				;
		good &= hold(seed + i);
	}
	return good;
}

static uint64_t seed_of_child;

static int
keep_in_child(void)
{
	return keep_while_others_run(seed_of_child) ? 0 : 1;
}

static void *
keep_in_thread(void *seed)
{
	return keep_while_others_run((uint64_t)seed) ? seed : NULL;
}

static void
test_others(void)
{
	pid_t pid[2 * WORKERS];
	pthread_t t[2 * WORKERS];
	int good = 0;

	ctl(PROFCLOCK, "hz 2000");
	for (int i = 0; i < 2 * WORKERS; i++) {
		seed_of_child = 1000 * (i + 1);
		pid[i] = child_start(keep_in_child);
	}
	for (int i = 0; i < 2 * WORKERS; i++)
		good += exited(pid[i], 0);
	CHECK(good == 2 * WORKERS, "processes keep their registers: %d", good);
	good = 0;
	for (uintptr_t i = 0; i < 2 * WORKERS; i++)
		pthread_create(&t[i], NULL, keep_in_thread,
			       (void *)(1000 * (i + 1)));
	for (int i = 0; i < 2 * WORKERS; i++) {
		void *result = NULL;

		pthread_join(t[i], &result);
		good += result != NULL;
	}
	CHECK(good == 2 * WORKERS, "so do threads: %d", good);
	ctl(PROFCLOCK, "hz 100");
}

/* --- Fork, and handlers --- */

static void
spoil(int sig)
{
	(void)sig;
	fill(77);
	hits++;
}

static void
test_fork(void)
{
	int status;
	pid_t pid;

	fill(5);
	pid = fork();
	if (pid == 0)
		_exit(hold(5) ? 0 : 1);
	waitpid(pid, &status, 0);
	CHECK(status == 0, "a child begins with its parent's");
}

static void *
find_sixes(void *arg)
{
	return hold(6) ? arg : NULL;
}

static void
test_thread(void)
{
	void *result = NULL;
	pthread_t t;

	fill(6);
	pthread_create(&t, NULL, find_sixes, &t);
	pthread_join(t, &result);
	CHECK(result == &t, "a thread begins with its creator's");
}

static void
test_handler(void)
{
	bool good;

	signal(SIGUSR1, spoil);
	hits = 0;
	fill(9);
	kill(getpid(), SIGUSR1);
	good = hold(9);
	CHECK(hits == 1 && good, "a handler leaves them as they were");
}

/* In a program that has not used them, nor do its handlers' show. */
static int
use_late(void)
{
	signal(SIGUSR1, spoil);
	kill(getpid(), SIGUSR1);
	return hits == 1 && hold(0) ? 0 : 1;
}

static uintptr_t handler_sp;

static void
look_at_stack(int sig)
{
	(void)sig;
	handler_sp = (uintptr_t)__builtin_frame_address(0);
}

static void
test_alignment(void)
{
	long pid = getpid();

	signal(SIGUSR2, look_at_stack);
	register long a0 asm("a0") = pid;
	register long a1 asm("a1") = SIGUSR2;
	register long a7 asm("a7") = SYS_kill;

	asm volatile("addi sp, sp, -8\n\tecall\n\taddi sp, sp, 8"
		     : "+r"(a0)
		     : "r"(a1), "r"(a7)
		     : "memory");
	CHECK(handler_sp != 0 && handler_sp % 16 == 0,
	      "a handler's stack is aligned (%lx)", handler_sp);
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "-l") == 0)
		return use_late();
	alarm(DEADLINE);
	CHECK(system("/bin/registers -l") == 0,
	      "who never used them finds zeroes after a handler did");
	test_others();
	test_fork();
	test_thread();
	test_handler();
	test_alignment();
	return check_done();
}
