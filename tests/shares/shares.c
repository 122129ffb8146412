/*
 * shares THREADS: work of which the shares are known, as functions of a group
 * execute the same loop so many times. Says whose child it is. See
 * test_shares.py.
 *
 *	one lock      all threads want it; 3 of 4 rounds are under it
 *	two locks     half of the threads want each; 2 and 3 of 4 are under them
 *	handlers      a signal's, which ends in a jump to another function
 *	processes     that fork others, and end
 */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOIPA    __attribute__((noipa))
#define ROUNDS   331  /* of a loop of two instructions */
#define TURNS    8000 /* of all threads */
#define SIGNALS  6000
#define CHILDREN 500

static inline __attribute__((always_inline)) void
work(int parts)
{
	long n = parts * ROUNDS;

	asm volatile("1: addi %0, %0, -1; bnez %0, 1b" : "+r"(n));
}

static int threads;

NOIPA static void
one_locked(void)
{
	work(3);
}

NOIPA static void
one_free(void)
{
	work(1);
}

NOIPA static void
two_locked_even(void)
{
	work(2);
}

NOIPA static void
two_locked_odd(void)
{
	work(3);
}

NOIPA static void
two_free_even(void)
{
	work(2);
}

NOIPA static void
two_free_odd(void)
{
	work(1);
}

/* What a thread does over and over. */
struct turn {
	pthread_mutex_t lock;
	void (*locked)(void), (*unlocked)(void);
};

static struct turn one = {PTHREAD_MUTEX_INITIALIZER, one_locked, one_free};
static struct turn two[] = {
    {PTHREAD_MUTEX_INITIALIZER, two_locked_even, two_free_even},
    {PTHREAD_MUTEX_INITIALIZER, two_locked_odd, two_free_odd},
};

static void *
take_turns(void *turn)
{
	struct turn *t = turn;

	for (int i = 0; i < TURNS / threads; i++) {
		pthread_mutex_lock(&t->lock);
		t->locked();
		pthread_mutex_unlock(&t->lock);
		t->unlocked();
	}
	return NULL;
}

static void
together(struct turn *even, struct turn *odd)
{
	pthread_t t[threads];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, take_turns, i % 2 ? odd : even))
			errx(1, "no thread");
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

NOIPA static void
after_handler(void)
{
	work(2);
}

NOIPA static void
handler(int sig)
{
	(void)sig;
	work(1);
	after_handler();
}

NOIPA static void
between_signals(void)
{
	work(3);
}

static void
handlers(void)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < SIGNALS; i++) {
		raise(SIGUSR1);
		between_signals();
	}
}

NOIPA static void
grandchild(void)
{
	work(10);
}

NOIPA static void
child(void)
{
	work(30);
}

static void
processes(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0) {
			if (fork() == 0)
				grandchild();
			else
				child();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

int
main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 2;
	printf("%d\n", getppid());
	together(&one, &one);
	together(&two[0], &two[1]);
	handlers();
	processes();
	return 0;
}
