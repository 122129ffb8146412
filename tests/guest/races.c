/*
 * What the threads of a process do to it at the same time: exec twice, exec
 * and make threads, end and stop, leave one after the other.
 *
 * Each is done over and over, a little earlier or later from one round to the
 * next (strokes.h).
 */
#include <pthread.h>
#include <sys/time.h>

#include "strokes.h"

/* How children end. */
#define EXIT_CODE 7
#define OVERDUE   99

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

	strike(1000);
	for (long later = -US(1500); later < US(1500); later += US(100), n++) {
		pid_t pid;

		appoint(6);
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
 * --- A stop doesn't undo an end ---
 *
 * A thread that can't return from a handler, for it has no stack, ends its
 * process whatever signals there are. It begins before one stroke, and goes on
 * when another thread, before the next, has seen that it is to stop.
 */

static void *
return_from_nothing(void *before)
{
	spin_till(when - stroke - (uint64_t)before);
	asm volatile("li sp, 16\n\tli a7, %0\n\tecall" ::"i"(SYS_rt_sigreturn));
	return NULL;
}

/* Were the end undone, the process would end otherwise. */
static void
stop_while_ending(uint64_t before)
{
	start(return_from_nothing, (void *)US(12));
	spin_till(when - before);
	kill(getpid(), SIGSTOP);
	sleep(1);
	_exit(OVERDUE);
}

/* One that may be stopped first. */
static bool
dies(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status))
		kill(pid, SIGCONT);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void
test_stop(void)
{
	int n = 0, good = 0;

	strike(1000);
	for (uint64_t before = US(20); before < US(120); before += US(2))
		for (int strokes = 5; strokes < 9; strokes++, n++) {
			pid_t pid;

			appoint(strokes);
			pid = fork();
			if (pid == 0)
				stop_while_ending(before);
			good += dies(pid);
		}
	CHECK(good == n, "a stop doesn't undo an end: %d of %d", good, n);
}

/*
 * --- Who leaves is not chosen again ---
 *
 * On two harts, of which each goes on from every other stroke to the next. A
 * thread leaves its process at the tick that ends its turn. If it could be
 * preempted while it leaves, it would be chosen again when this process yields.
 * That is done before another stroke, such that the hart stands still there,
 * about to load the leaver's address space. Meanwhile the process's last thread
 * execs: the address space is freed, and its pages are used for other things.
 */
#define SLICE_TICKS 4

static uint64_t turn_end, choice; /* the two strokes */

static void *
leave(void *before)
{
	spin_till(turn_end - SLICE_TICKS * TICK);
	sched_yield(); /* so a turn begins */
	spin_till(turn_end - (uint64_t)before);
	call(SYS_exit, 0, 0);
	return NULL;
}

/* The last thread, whose own turn is to end later. */
static void
outlast(uint64_t before)
{
	start(leave, (void *)before);
	spin_till(turn_end - stroke - stroke / 4);
	sched_yield();
	spin_till(choice + US(5));
	execl("/bin/races", "races", "-u", NULL);
	_exit(OVERDUE);
}

static int
use_pages(void)
{
	static volatile char pages[64 * PAGE];

	for (int i = 0; i < 64; i++)
		pages[i * PAGE] = 0xff;
	return pages[0] == 0xff ? EXIT_CODE : OVERDUE;
}

/* One leaves, and this yields, so long before the strokes. Till then it only
 * waits for its turn. Was it the right one of the harts that stood still? */
static bool
leave_and_yield(uint64_t leaves, uint64_t yields, bool *good)
{
	uint64_t now;
	pid_t pid = fork();

	if (pid == 0)
		outlast(leaves);
	while ((now = rdtime()) < turn_end)
		sched_yield();
	spin_till(choice - yields);
	sched_yield();
	*good = exited(pid, EXIT_CODE);
	return now - turn_end > stroke / 2;
}

/* The same till it was: every other tick is a turn of the same hart's. */
static bool
leaves_well(uint64_t leaves, uint64_t yields)
{
	static unsigned int odd;

	for (int tries = 0; tries < 4; tries++) {
		uint64_t tick = rdtime() / TICK + SLICE_TICKS + 2;
		bool good;

		turn_end = (tick + (tick + odd) % 2) * TICK;
		choice = turn_end + 2 * stroke;
		if (leave_and_yield(leaves, yields, &good) || !good)
			return good;
		odd = !odd;
	}
	return true;
}

static void
test_leave(void)
{
	int n = 0, good = 0;

	if (system_info().harts != 2)
		return;
	strike(300);
	for (uint64_t leaves = 50; leaves <= 120; leaves += 35)
		for (uint64_t yields = 60; yields < 150; yields += 12, n++)
			good += leaves_well(leaves, yields);
	CHECK(good == n, "who leaves is gone: %d of %d", good, n);
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
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "-u") == 0)
		return use_pages();
	alarm(DEADLINE);
	CHECK(system_info().timebase == US(1000000), "the clock's unit");
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++)
		test_exec(&rivals[i]);
	test_stop();
	test_leave();
	ctl(PROFCLOCK, "hz 100");
	test_late_sleep();
	test_late_fork();
	return check_done();
}
