/*
 * Kernel stacks that get other pages: no hart remembers the pages that they
 * had before. Whoever sleeps on a word has its place in the list of sleepers
 * on its kernel stack, where a waker on another hart looks for it.
 *
 * The waker looks at all sleepers, and then stays on its hart in user mode, so
 * that nothing makes that hart forget. The sleepers end, all memory is used up,
 * their stacks' pages too; then others sleep on the same stacks, on new pages.
 */
#include <limits.h>
#include <pthread.h>

#include "children.h"

#define SLEEPERS 64
#define ROUNDS   2

/* In pages. LEFT is less than those stacks have that nobody uses, and more than
 * what harts may keep to themselves: all memory is used, and nobody killed. */
#define LEFT  220
#define SPARE (2 * SLEEPERS * 4 + 128) /* that the hog gives back */

int futex_wait(const void *word, int value, const struct timespec *until);
int futex_wake(const void *word, int count);

static volatile enum { LOOK, LOOKED, WAKE, WOKEN } step;
static int first, second, nobody; /* words to sleep on */
static int asleep;                /* atomic */
static long woken;
static struct gate go, full, end; /* the hog's */

/* Uses up memory, each time it's told to. What stacks have that nobody uses
 * counts as free, and is taken last. One that took all would be killed. */
static int
hog(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		long n = 0, most;
		char *heap;

		gate_pass(go);
		most = pages_free();
		/* Address space alone; no one part may be larger than that. */
		heap = sbrk(most / 2 * PAGE);
		sbrk((most - most / 2) * PAGE);
		while (n < most && (n % 8 || pages_free() > LEFT + 8))
			heap[n++ * PAGE] = 1;
		sbrk((n - most - SPARE) * PAGE);
		gate_open(full);
		gate_pass(end);
		sbrk(-(n - SPARE) * PAGE);
	}
	return 0;
}

static void *
sleep_on(void *word)
{
	__atomic_add_fetch(&asleep, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n((int *)word, __ATOMIC_SEQ_CST) == 0)
		futex_wait(word, 0, NULL);
	return word;
}

static void *
look_and_wake(void *arg)
{
	while (step != LOOK)
		;
	futex_wake(&nobody, 1);
	step = LOOKED;
	while (step != WAKE)
		;
	second = 1;
	woken = futex_wake(&second, INT_MAX);
	step = WOKEN;
	return arg;
}

static void
start_sleepers(pthread_t *t, int *word)
{
	struct timespec nap = {.tv_nsec = 20 * NS_PER_MS};

	asleep = 0;
	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&t[i], NULL, sleep_on, word);
	CHECK(AWAIT(__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) == SLEEPERS),
	      "%d sleep", SLEEPERS);
	nanosleep(&nap, NULL); /* their last steps */
}

static void
join(pthread_t *t)
{
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(t[i], NULL);
}

static void *
nothing(void *arg)
{
	return arg;
}

/* Each clone frees the stacks of threads that have ended. */
static void
free_stacks(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, nothing, NULL) == 0)
			pthread_join(t, NULL);
}

static void
test(void)
{
	static pthread_t t[SLEEPERS], waker;

	first = second = 0;
	step = LOOKED;
	start_sleepers(t, &first);
	pthread_create(&waker, NULL, look_and_wake, NULL);
	step = LOOK;
	CHECK(AWAIT(step == LOOKED), "a waker has looked at all");
	first = 1;
	futex_wake(&first, INT_MAX);
	join(t);
	free_stacks();
	gate_open(go);
	CHECK(gate_pass(full) && pages_free() < 2 * SPARE,
	      "all memory is used up");
	start_sleepers(t, &second);
	step = WAKE;
	CHECK(AWAIT(step == WOKEN) && woken == SLEEPERS,
	      "the waker finds all on their stacks' new pages: %ld", woken);
	join(t);
	pthread_join(waker, NULL);
	gate_open(end);
}

int
main(void)
{
	pid_t pid;

	alarm(DEADLINE);
	go = gate_make();
	full = gate_make();
	end = gate_make();
	pid = child_start(hog);
	for (int i = 0; i < ROUNDS; i++)
		test();
	CHECK(child_wait(pid) == 0, "the memory is given back");
	return check_done();
}
