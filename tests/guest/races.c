/*
 * What the threads of a process do to it at the same time: exec twice, exec
 * and make threads; and what comes too late: a sleep, a fork.
 *
 * Each is done over and over, a little earlier or later from one round to the
 * next.
 */
#include <pthread.h>
#include <sys/time.h>

#include "moments.h"

/* How children end. */
#define EXIT_CODE 7
#define OVERDUE   99

static uint64_t when; /* both begin */

static pthread_t
start(void *(*body)(void *), void *arg)
{
	pthread_t t = NULL;

	pthread_create(&t, NULL, body, arg);
	return t;
}

/* --- exec, and something else at the same time --- */

static void
exec_false(void)
{
	execl("/bin/false", "false", NULL);
}

static void
exit_by_itself(void)
{
	_exit(EXIT_CODE);
}

static void
kill_itself(void)
{
	kill(getpid(), SIGKILL);
}

static void
spin(void *)
{
	for (;;)
		;
}

static void
start_threads(void)
{
	static long stack[16]; /* of all: they keep nothing there */

	for (int i = 0; i < 40; i++)
		thread_make(spin, &stack[16]);
	spin(NULL);
}

static const struct rival {
	const char *name;
	void (*act)(void);
	int status; /* of the process, where this comes first */
} rivals[] = {
    {"another exec", exec_false, 1 << 8},
    {"exit", exit_by_itself, EXIT_CODE << 8},
    {"SIGKILL", kill_itself, SIGKILL},
    {"new threads", start_threads, 0},
};

static void *
exec_true(void *arg)
{
	spin_till(when);
	execl("/bin/true", "true", NULL);
	_exit(OVERDUE);
	return arg;
}

static void
exec_against(const struct rival *r, long later)
{
	start(exec_true, NULL);
	spin_till(when + later);
	r->act();
	_exit(OVERDUE);
}

/* exec takes a millisecond or so, and what it does last is what matters. */
static void
test_exec(const struct rival *r)
{
	int n = 0, good = 0, status;
	long before = pages_free();

	for (long later = -US(1500); later < US(1500); later += US(100), n++) {
		pid_t pid;

		when = rdtime() + US(6000);
		pid = fork();
		if (pid == 0)
			exec_against(r, later);
		status = status_of(pid, 0);
		good += status == 0 || status == r->status;
	}
	CHECK(good == n, "exec and %s: one of them wins, %d of %d", r->name,
	      good, n);
	CHECK(AWAIT(pages_free() >= before - 16),
	      "exec and %s: all memory is given back", r->name);
}

/*
 * --- A sleep whose time is over while it begins ---
 *
 * At the tick another hart rings its timer, and finds nobody asleep. The
 * sleeper must see by itself that it's too late, or nobody ever wakes it; but
 * here an alarm does.
 */
#define SLEEP_COUNTS 400 /* a call takes less until it sleeps */

static void
on_alarm(int sig)
{
	(void)sig;
}

static void
test_late_sleep(void)
{
	struct sigaction act = {.sa_handler = on_alarm};
	struct itimerval soon = {.it_value.tv_sec = 1};
	struct timespec shortest = {.tv_nsec = 1};
	int n = 0, good = 0;

	sigaction(SIGALRM, &act, NULL);
	for (; n < SLEEP_COUNTS; n++) {
		setitimer(ITIMER_REAL, &soon, NULL);
		spin_till(nth_tick(1) - n);
		good += nanosleep(&shortest, NULL) == 0;
	}
	signal(SIGALRM, SIG_DFL);
	alarm(DEADLINE);
	CHECK(good == n, "a sleep that begins too late ends: %d of %d", good,
	      n);
}

/*
 * --- A fork that fails late ---
 *
 * One that a signal is to stop makes no child any more, however far it has
 * come. What it has taken by then it gives back: its working directory can be
 * removed, and the memory of that is free.
 */
static void
fork_on(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

/* In a directory that is gone when nobody has it any more. */
static void
stop_forks(void)
{
	pid_t pid;

	mkdir("/tmp/races.d", 0777);
	pid = fork();
	if (pid == 0 && chdir("/tmp/races.d") == 0)
		fork_on();
	for (int i = 0; i < 10; i++) {
		spin_till(rdtime() + US(500 + 37 * i));
		kill(pid, SIGSTOP);
		stopped(pid, SIGSTOP);
		kill(pid, SIGCONT);
	}
	child_end(pid);
	rmdir("/tmp/races.d");
}

static void
test_late_fork(void)
{
	long before;

	stop_forks(); /* what is allocated once for all is there */
	before = blocks_used();
	for (int i = 0; i < 10; i++)
		stop_forks();
	CHECK(AWAIT(blocks_used() <= before),
	      "forks that fail late keep nothing: %ld more blocks",
	      blocks_used() - before);
}

int
main(void)
{
	alarm(DEADLINE);
	CHECK(system_info().timebase == US(1000000), "the clock's unit");
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++)
		test_exec(&rivals[i]);
	test_late_sleep();
	test_late_fork();
	return check_done();
}
