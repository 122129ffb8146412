/* Pages that processes share, and what threads see of them meanwhile. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe.h"

#define LOOKS 300000

/* What two threads know: some pages, of each of which they use the first
 * word. */
static struct {
	volatile unsigned long *word;
	long pages;
	unsigned long seen, passes; /* atomics */
	bool stop;                  /* atomic */
} both;

#define WORD(page) both.word[(page) * (PAGE / sizeof(long))]

static void *
add_to_all(void *)
{
	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		for (long i = 0; i < both.pages; i++)
			WORD(i)++;
		__atomic_fetch_add(&both.passes, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *
look_at_first(void *)
{
	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&both.seen, WORD(0), __ATOMIC_RELAXED);
		__atomic_fetch_add(&both.passes, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Wait until the other thread has begun and ended a pass; but not for ever, as
 * with a wrong kernel this thread may not see what that one writes. */
static void
wait_pass(void)
{
	unsigned long n = __atomic_load_n(&both.passes, __ATOMIC_ACQUIRE) + 2;

	for (long looks = 0; looks < LOOKS; looks++)
		if (__atomic_load_n(&both.passes, __ATOMIC_ACQUIRE) >= n)
			return;
}

/* Does any of the words change while this process looks? */
static bool
changes(void)
{
	unsigned long first[64];
	bool changed = false;

	for (long i = 0; i < both.pages && i < 64; i++)
		first[i] = WORD(i);
	for (int times = 0; times < 300; times++)
		for (long i = 0; i < both.pages && i < 64; i++)
			changed |= WORD(i) != first[i];
	return changed;
}

/* fork-writing ADDRESS PAGES ROUNDS: fork so many children, while a thread adds
 * 1 to a word of each page. The answer is how many of them saw a word change,
 * and how many words haven't got all additions. */
static void
do_fork_writing(void)
{
	unsigned long saw = 0, lost = 0;
	pthread_t writer;
	char text[48];

	both.word = (volatile unsigned long *)number();
	both.pages = number();
	both.stop = false;
	both.passes = 0;
	pthread_create(&writer, NULL, add_to_all, NULL);
	for (long n = number(); n > 0; n--) {
		int status = 0;
		pid_t pid;

		wait_pass();
		pid = fork();
		if (pid == 0)
			_exit(changes());
		waitpid(pid, &status, 0);
		saw += status != 0;
	}
	__atomic_store_n(&both.stop, true, __ATOMIC_RELEASE);
	pthread_join(writer, NULL);
	for (long i = 0; i < both.pages; i++)
		lost += WORD(i) != both.passes;
	snprintf(text, sizeof(text), "%lu %lu", saw, lost);
	answer(text);
}

/* publish ADDRESS ROUNDS: store to a word, which a thread reads all the time,
 * while a child shares its page. The answer is how often the thread hasn't seen
 * what was stored. */
static void
do_publish(void)
{
	pthread_t reader;
	long missed = 0;

	both.word = (volatile unsigned long *)number();
	both.stop = false;
	both.passes = 0;
	WORD(0) = 0;
	pthread_create(&reader, NULL, look_at_first, NULL);
	for (unsigned long n = number(); n > 0; n--) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				pause();
		wait_pass();
		WORD(0) = n;
		wait_pass();
		missed += __atomic_load_n(&both.seen, __ATOMIC_RELAXED) != n;
		kill_child(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	answer_number(missed);
	__atomic_store_n(&both.stop, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
}

/* What the threads of publish-told know besides. These are atomics. */
static struct {
	unsigned long round, told, stale;
} order;

/* Some time after a round begins, store to the page's second word, and tell the
 * other thread. The time is another one in each round. */
static void *
store_and_tell(void *)
{
	unsigned long n = 0;

	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&order.round, __ATOMIC_ACQUIRE) == n)
			continue;
		n++;
		for (volatile unsigned long i = n * 37 % 400; i > 0; i--)
			;
		both.word[1] = n;
		__atomic_store_n(&order.told, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *
read_what_is_told(void *)
{
	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		unsigned long told;

		/* This makes the TLB remember the entry as it is now. */
		(void)both.word[1];
		told = __atomic_load_n(&order.told, __ATOMIC_ACQUIRE);
		if (both.word[1] < told)
			order.stale++;
	}
	return NULL;
}

/* publish-told ADDRESS ROUNDS: while a child shares a page, store to it.
 * Another thread stores to it, too, and tells a third. The answer is how often
 * the third then still reads what was there before. */
static void
do_publish_told(void)
{
	pthread_t storer, reader;
	unsigned long rounds;

	both.word = (volatile unsigned long *)number();
	rounds = number();
	both.stop = false;
	memset(&order, 0, sizeof(order));
	WORD(0) = WORD(1) = both.word[1] = 0;
	pthread_create(&reader, NULL, read_what_is_told, NULL);
	pthread_create(&storer, NULL, store_and_tell, NULL);
	for (unsigned long n = 1; n <= rounds; n++) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				pause();
		__atomic_store_n(&order.round, n, __ATOMIC_RELEASE);
		WORD(0) = n;
		while (__atomic_load_n(&order.told, __ATOMIC_ACQUIRE) < n)
			;
		kill_child(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	__atomic_store_n(&both.stop, true, __ATOMIC_RELEASE);
	pthread_join(storer, NULL);
	pthread_join(reader, NULL);
	answer_number(order.stale);
}

const struct operation sharing_operations[] = {
    {"fork-writing", do_fork_writing},
    {"publish", do_publish},
    {"publish-told", do_publish_told},
    {NULL, NULL},
};
