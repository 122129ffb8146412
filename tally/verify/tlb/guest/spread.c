/*
 * Threads on all harts, and pages that one of them is the first to touch: of
 * text, of the heap, each with a page table of its own, and of what a child has
 * still in common. The others wait in user mode meanwhile, so that their harts
 * go on with what they have loaded, and then touch the same.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE    4096
#define TABLE   (2L << 20) /* bytes that a page table stands for */
#define THREADS 4
#define STEPS   16

/* STEPS functions, each in a page of its own: the nth gives v * (n + 2) + 1. */
asm(".section .text.steps, \"ax\"\n"
    "	.balign	4096\n"
    "steps:	.set	n, 0\n"
    "	.rept	16\n"
    "	li	a1, n + 2\n"
    "	mul	a0, a0, a1\n"
    "	addi	a0, a0, 1\n"
    "	ret\n"
    "	.balign	4096\n"
    "	.set	n, n + 1\n"
    "	.endr\n"
    "	.previous");
extern char steps[];

static char data[STEPS][PAGE] __attribute__((aligned(PAGE))) = {{1}};
static char *heap;
static atomic_int arrived;
static atomic_long wrong;

/* Wait for all threads, for the nth time. */
static void
meet(int n)
{
	arrived++;
	while (arrived < n * THREADS)
		;
}

static long
step(int n, long v)
{
	return ((long (*)(long))(void *)(steps + n * PAGE))(v);
}

/* The first to touch what the step has. */
static void
first(int i)
{
	wrong += step(i, i) != i * (i + 2) + 1;
	heap[i * TABLE] = i + 1;
	data[i][1] = i + 1;
}

static void
others(int i)
{
	wrong += step(i, 1) != i + 3;
	wrong += heap[i * TABLE] != i + 1;
	wrong += data[i][1] != i + 1;
}

static void *
run(void *number)
{
	long me = (long)number;
	int met = 0;

	for (int i = 0; i < STEPS; i++) {
		meet(++met);
		if (i % THREADS == me)
			first(i);
		meet(++met);
		others(i);
	}
	return number;
}

int
main(void)
{
	pthread_t t[THREADS];
	pid_t child;

	heap = sbrk(STEPS * TABLE);
	for (int i = 0; i < STEPS; i++)
		data[i][0] = 1;
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	for (long i = 1; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, run, (void *)i) != 0)
			return 1;
	run(0);
	for (int i = 1; i < THREADS; i++)
		pthread_join(t[i], NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%ld wrong\n", (long)wrong);
	return wrong != 0;
}
