/*
 * Stopping, continuing and ending a process that forks, makes threads or exits
 * at that moment: what a signal says holds for all of it.
 */
#include <pthread.h>
#include <signal.h>

#include "catch.h"

#define GROUPS 12   /* of processes that fork and exit */
#define STOPS  20   /* of a process that makes threads */
#define TURNS  1000 /* of one that has threads: stopped, and continued */
#define EXITS  150  /* while signals come */
#define STEP   50   /* how far moments are apart */

static const struct timespec settle = {0, 4 * NS_PER_MS};

/* Let some time pass: another in each round. */
static void
delay(int round)
{
	for (volatile int i = round % 40 * STEP; i > 0; i--)
		;
}

/* --- Processes that fork --- */

/* How many of a group's processes are in a state that isn't one of these. */
static int
count_others(pid_t group, const char *states)
{
	static struct psinfo all[128];
	int n = psinfo(all, 128), count = 0;

	for (int i = 0; i < n && i < 128; i++)
		count += all[i].pgrp == group && !strchr(states, all[i].state);
	return count;
}

/* A group in which each process forks, and exits, for ever. */
static pid_t
chain_start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setpgid(0, 0);
		while (fork() == 0)
			;
		_exit(0);
	}
	setpgid(pid, pid);
	return pid;
}

/* Send sig to such groups: is each process in one of these states then? */
static bool
chains_halt(int sig, const char *states)
{
	bool good = true;

	for (int i = 0; good && i < GROUPS; i++) {
		pid_t pid = chain_start();

		nanosleep(&settle, NULL);
		delay(i);
		kill(-pid, sig);
		good = AWAIT(count_others(pid, states) == 0);
		AWAIT((kill(-pid, SIGKILL), count_others(pid, "Z") == 0));
		waitpid(pid, NULL, 0);
	}
	return good;
}

static void
test_chains(void)
{
	CHECK(chains_halt(SIGKILL, "Z"), "SIGKILL ends a group that forks");
	CHECK(chains_halt(SIGTERM, "Z"), "so does SIGTERM");
	CHECK(chains_halt(SIGSTOP, "TZ"), "SIGSTOP stops all of it");
}

/* --- Processes with threads --- */

static int beats[2]; /* a pipe: threads show that they run */
static volatile long made;

static void *
spin(void *arg)
{
	for (;;)
		getppid();
	return arg;
}

/* Show life until another thread but one has been made. */
static void *
beat(void *arg)
{
	while (made < (long)arg + 2) {
		delay(39);
		write(beats[1], "", 1);
	}
	return arg;
}

static _Noreturn int
make_threads(void)
{
	pthread_attr_t detached;
	pthread_t t;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_create(&t, &detached, spin, NULL);
	for (;;)
		if (pthread_create(&t, &detached, beat, (void *)made) == 0)
			made++;
}

/* How much came from threads since the last time. */
static long
beats_read(void)
{
	static char buf[4096];
	long n, sum = 0;

	while ((n = read(beats[0], buf, sizeof(buf))) > 0)
		sum += n;
	return sum;
}

/* Has the process come to rest? What was in a call may still end that. */
static bool
at_rest(void)
{
	int silent = 0;

	for (int i = 0; i < 50 && silent < 3; i++) {
		nanosleep(&settle, NULL);
		silent = beats_read() == 0 ? silent + 1 : 0;
	}
	return silent == 3;
}

static void
test_new_threads(void)
{
	int good = 0;
	pid_t pid;

	pipe(beats);
	fcntl(beats[0], F_SETFL, O_NONBLOCK);
	fcntl(beats[1], F_SETFL, O_NONBLOCK);
	pid = child_start(make_threads);
	for (int i = 0; i < STOPS; i++) {
		nanosleep(&settle, NULL);
		delay(i);
		kill(pid, SIGSTOP);
		good += stopped(pid, SIGSTOP) && at_rest();
		kill(pid, SIGCONT);
	}
	child_end(pid);
	close(beats[0]);
	close(beats[1]);
	CHECK(good == STOPS, "SIGSTOP stops a thread that is just being made");
}

static void *
sleep_on(void *arg)
{
	while (pause() < 0)
		;
	return arg;
}

static int
sleep_in_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, sleep_on, NULL);
	sleep_on(NULL);
	return 0;
}

static void
test_continue(void)
{
	pid_t pid = child_start(sleep_in_threads);
	int good = 0;

	for (int i = 0; i < TURNS; i++) {
		kill(pid, SIGSTOP);
		delay(i);
		kill(pid, SIGCONT);
		delay(20);
		if (state_of(pid) == 'T')
			kill(pid, SIGCONT);
		else
			good++;
	}
	child_end(pid);
	CHECK(good == TURNS, "SIGCONT continues all that was stopped before");
}

/* --- The end --- */

/* Have a child exit while signals come. */
static bool
exit_disturbed(int round, const int sig[2])
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(-512); /* no error number, whatever the kernel has */
	delay(round);
	for (int i = 0; i < 20 && state_of(pid) != 'Z'; i++)
		kill(pid, sig[i % 2]);
	return exited(pid, 0);
}

static void
test_exit(void)
{
	static const int caught[] = {SIGUSR1, SIGUSR1};
	static const int stop[] = {SIGSTOP, SIGCONT};
	int good = 0;

	catch_signal(SIGUSR1, 0, 0);
	for (int i = 0; i < EXITS; i++)
		good += exit_disturbed(i, caught) && exit_disturbed(i, stop);
	CHECK(good == EXITS, "exit: signals don't change the status");
}

int
main(void)
{
	alarm(DEADLINE);
	test_chains();
	test_new_threads();
	test_continue();
	test_exit();
	return check_done();
}
