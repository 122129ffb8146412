/*
 * Alarms ring on one hart while the threads that they interrupt go to sleep on
 * others: neither waits for the other for ever.
 */
#include <pthread.h>
#include <sys/time.h>

#include "catch.h"

#define PROCESSES 8
#define RINGS     40 /* of each process's alarm, one a tick */

/* In ns: over before it begins, or in the middle of things. */
static const struct timespec naps[] = {{0, 1}, {0, 100000}};

static void
start_alarm(void)
{
	const struct itimerval every_tick = {{0, 10000}, {0, 10000}};

	catch_signal(SIGALRM, SA_RESTART, 0);
	setitimer(ITIMER_REAL, &every_tick, NULL);
}

static int
nap(void)
{
	start_alarm();
	for (int i = 0; hits < RINGS; i++)
		nanosleep(&naps[i % 2], NULL);
	return 0;
}

/* Waits for a word that nobody wakes: each wait has a deadline. */
static int
wait_on_word(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	start_alarm();
	pthread_mutex_lock(&mutex);
	while (hits < RINGS) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		pthread_cond_timedwait(&cond, &mutex, &now);
	}
	return 0;
}

static void
test_all(const char *what, int (*run)(void))
{
	pid_t pid[PROCESSES];
	int good = 0;

	for (int i = 0; i < PROCESSES; i++)
		pid[i] = child_start(run);
	for (int i = 0; i < PROCESSES; i++)
		good += child_wait(pid[i]) == 0;
	CHECK(good == PROCESSES, "alarms and %s get on with each other", what);
}

int
main(void)
{
	alarm(DEADLINE);
	test_all("sleeps", nap);
	test_all("waits with a deadline", wait_on_word);
	return check_done();
}
