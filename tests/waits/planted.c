/*
 * Waits that are planted: 40 sleeps of 27 ms and one of 407, by way of known
 * functions; a mutex that four threads fight for; who reads a pipe that a slow
 * child fills.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;

static APART void
poll_wait(void)
{
	for (int i = 0; i < 40; i++)
		poll(NULL, 0, 27);
}

static APART int
reconnect(void)
{
	return poll(NULL, 0, 407) + 1;
}

static APART int
work(void)
{
	poll_wait();
	return reconnect();
}

static APART void *
book(void *)
{
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&ledger);
		poll(NULL, 0, 5);
		pthread_mutex_unlock(&ledger);
	}
	return NULL;
}

static APART void
fight(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, book, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static APART void
slow_child(int out)
{
	poll(NULL, 0, 150);
	write(out, "x", 1);
	exit(0);
}

static APART void
take_orders(void)
{
	int end[2];
	char c;

	pipe(end);
	if (fork() == 0)
		slow_child(end[1]);
	read(end[0], &c, 1);
	wait(NULL);
}

int
main(void)
{
	int r = work() != 1;

	fight();
	take_orders();
	return r;
}
