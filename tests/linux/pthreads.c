/* The C library's threads, and all that it builds on futexes, thread-local
 * storage and the words that clone is given. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

#define MANY   8
#define ROUNDS 1000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static long sum, turn;
static atomic_int serial;
static __thread long own __attribute__((aligned(128))) = 7;

static void
run(const char *name, int n, void *(*body)(void *))
{
	pthread_t t[MANY];
	long good = 0;
	void *value;

	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, body, (void *)i) != 0)
			printf("%s: no thread\n", name);
	for (long i = 0; i < n; i++)
		good += pthread_join(t[i], &value) == 0 && value == (void *)i;
	printf("%s: %ld of %d, sum %ld\n", name, good, n, sum);
	fflush(stdout);
}

static void *
add(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void *
take_turns(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % MANY != (long)arg)
			pthread_cond_wait(&cond, &mutex);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void *
read_and_write(void *arg)
{
	for (int i = 0; i < ROUNDS / 10; i++) {
		pthread_rwlock_rdlock(&rwlock);
		long seen = sum;
		if (seen != sum)
			arg = NULL;
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_wrlock(&rwlock);
		sum++;
		pthread_rwlock_unlock(&rwlock);
	}
	return arg;
}

static void *
meet(void *arg)
{
	for (int i = 0; i < 20; i++)
		if (pthread_barrier_wait(&barrier) ==
		    PTHREAD_BARRIER_SERIAL_THREAD)
			serial++;
	return arg;
}

static void *
use_own(void *arg)
{
	if (own != 7 || (uintptr_t)&own % 128 != 0)
		return (void *)-1;
	own = (long)arg;
	sched_yield();
	return (void *)own;
}

static void *
post(void *arg)
{
	sem_post(&sem);
	return arg;
}

static void
test_all(void)
{
	run("mutex", MANY, add);
	run("turns", MANY, take_turns);
	run("rwlock", MANY, read_and_write);
	pthread_barrier_init(&barrier, NULL, MANY);
	run("barrier", MANY, meet);
	printf("serial %d, turn %ld\n", serial, turn);
	run("own", MANY, use_own);
	sem_init(&sem, 0, 0);
	run("post", MANY, post);
	for (int i = 0; i < MANY; i++)
		sem_wait(&sem);
	printf("none left: %d\n", sem_trywait(&sem) < 0 && errno == EAGAIN);
}

static void
clean_up(void *arg)
{
	printf("cleaned up %s\n", (char *)arg);
}

static void *
wait_for_ever(void *arg)
{
	pthread_cleanup_push(clean_up, "after cancel");
	sem_post(&sem);
	pause();
	pthread_cleanup_pop(0);
	return arg;
}

static void *
end_detached(void *arg)
{
	pthread_detach(pthread_self());
	sem_post(arg);
	return NULL;
}

/* Who has the mutex ends with it. */
static void *
die_with(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void
test_ends(void)
{
	struct timespec until;
	pthread_mutexattr_t attr;
	pthread_mutex_t robust;
	pthread_t t;
	void *value;

	pthread_create(&t, NULL, wait_for_ever, NULL);
	sem_wait(&sem);
	pthread_cancel(t);
	pthread_join(t, &value);
	printf("cancelled: %d\n", value == PTHREAD_CANCELED);
	pthread_create(&t, NULL, end_detached, &sem);
	sem_wait(&sem);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	pthread_create(&t, NULL, die_with, &robust);
	pthread_join(t, NULL);
	printf("owner died: %d\n", pthread_mutex_lock(&robust) == EOWNERDEAD);
	printf("consistent: %d\n", pthread_mutex_consistent(&robust));
	printf("given back: %d\n", pthread_mutex_unlock(&robust));
	clock_gettime(CLOCK_REALTIME, &until);
	pthread_mutex_lock(&mutex);
	printf("in time: %d\n",
	       pthread_cond_timedwait(&cond, &mutex, &until) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	fflush(stdout);
}

static void
say_parent(void)
{
	printf("fork, parent\n");
	fflush(stdout);
}

static void
say_child(void)
{
	printf("fork, child\n");
	fflush(stdout);
}

static void *
fork_here(void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		run("in a child", 2, use_own);
		_exit(gettid() == getpid() ? 3 : 4);
	}
	waitpid(pid, &status, 0);
	printf("child of a thread: %x\n", status);
	return arg;
}

static void *
exit_all(void *arg)
{
	printf("exit by thread\n");
	fflush(stdout);
	_exit(5);
	return arg;
}

int
main(void)
{
	pthread_t t;

	PROMISE("pthreads(7): mutexes, conditions, barriers and the rest");
	test_all();
	PROMISE("pthread_exit(3): how threads end, and are joined");
	test_ends();
	PROMISE("fork(2): the child has one thread");
	pthread_atfork(NULL, NULL, say_child);
	run("fork", 1, fork_here);
	say_parent();
	PROMISE("exit(3): one thread ends them all");
	pthread_create(&t, NULL, exit_all, NULL);
	pause();
	return 0;
}
