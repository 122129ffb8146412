/*
 * Processes of several threads, which count together, and end in all ways
 * while the threads are at all kinds of work.
 */
#include <pthread.h>

#include "children.h"
#include "stress.h"

#define THREADS 6
#define COUNT   200

static pthread_mutex_t mutex;
static pthread_cond_t cond;
static long sum, turn;

int futex_wait(const void *word, int value, const struct timespec *until);

static pthread_t
start(void *(*body)(void *), void *arg)
{
	pthread_t t;
	int error = pthread_create(&t, NULL, body, arg);

	if (error != 0)
		wrong("pthread_create: %s", strerror(error));
	return t;
}

static void *
count(void *arg)
{
	for (int i = 0; i < COUNT; i++) {
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void *
take_turns(void *arg)
{
	for (int i = 0; i < COUNT / 10; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % THREADS != (long)arg)
			pthread_cond_wait(&cond, &mutex);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void
together(void *(*body)(void *))
{
	pthread_t t[THREADS];
	void *value;

	for (long i = 0; i < THREADS; i++)
		t[i] = start(body, (void *)i);
	for (long i = 0; i < THREADS; i++)
		must(pthread_join(t[i], &value) == 0 && value == (void *)i);
}

/* They share memory, and none of their steps is lost. */
static void
counts(void)
{
	pid_t pid = split();

	if (pid == 0) {
		together(count);
		must(sum == THREADS * COUNT);
		together(take_turns);
		must(turn == THREADS * (COUNT / 10));
		_exit(0);
	}
	must(exited(pid, 0));
}

static void *
short_life(void *arg)
{
	return arg;
}

/* What a thread is at when its process ends. Nothing of it is waited for. */
static void *
be_at_work(void *arg)
{
	static int never;
	struct timespec nap = {.tv_nsec = NS_PER_MS};
	int fd[2];
	char c;

	switch ((long)arg % 8) {
	case 0:
		for (;;)
			;
	case 1:
		for (;;)
			futex_wait(&never, 0, NULL);
	case 2:
		pipe(fd);
		for (;;)
			read(fd[0], &c, 1);
	case 3:
		for (;;)
			nanosleep(&nap, NULL);
	case 4:
		for (;;)
			free(memset(malloc(3 * PAGE), 1, 3 * PAGE));
	case 5:
		for (;;) {
			pthread_t t;

			if (pthread_create(&t, NULL, short_life, NULL) == 0)
				pthread_join(t, NULL);
		}
	case 6:
		for (;;) {
			pid_t pid = fork();

			if (pid == 0)
				_exit(0);
			waitpid(pid, NULL, 0);
		}
	default:
		for (;;)
			close(open("/dev/null", O_RDWR));
	}
}

static void *
leave(void *arg)
{
	dawdle();
	exit((long)arg);
}

static void *
become_another(void *arg)
{
	char code[12];

	signal(SIGALRM, SIG_IGN); /* exec resets handlers */
	sprintf(code, "exit %ld", (long)arg);
	dawdle();
	execl("/bin/sh", "sh", "-c", code, NULL);
	return arg;
}

/* In a process with threads at work: end it. */
static void
end(int how, long code)
{
	switch (how) {
	case 0:
		_exit(code);
	case 1:
		start(leave, (void *)code);
		pthread_exit(NULL);
	case 2:
		become_another((void *)code);
		wrong("exec: %s", strerror(errno));
	case 3: /* two at once: one of them is the other's end */
		start(become_another, (void *)code);
		become_another((void *)code);
		for (;;)
			pause();
	case 4: /* exec against exit */
		start(become_another, (void *)code);
		dawdle();
		_exit(code);
	default:
		for (;;)
			pause();
	}
}

/* It ends by itself, or is killed, perhaps before it has begun; stops and
 * continues fall in between. */
static void
ends(void)
{
	int how = chance(7), n = 1 + chance(THREADS);
	long code = chance(256);
	pid_t pid = split();
	int status;

	if (pid == 0) {
		for (int i = 0; i < n; i++)
			start(be_at_work, (void *)(long)chance(8));
		if (chance(2))
			be_interrupted();
		dawdle();
		end(how, code);
	}
	for (int i = chance(5); i > 0; i--) {
		dawdle();
		must(kill(pid, chance(2) ? SIGSTOP : SIGCONT) == 0);
	}
	dawdle();
	if (how > 4)
		must(kill(pid, SIGKILL) == 0);
	for (;;) {
		must(waitpid(pid, &status, WUNTRACED) == pid);
		if (!WIFSTOPPED(status))
			break;
		must(kill(pid, SIGCONT) == 0);
	}
	if (how > 4)
		must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		wrong("end %d: status 0x%x, not %ld", how, status, code);
}

void
round_of_threads(void)
{
	if (chance(3) == 0)
		counts();
	else
		ends();
}
