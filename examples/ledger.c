/*
 * ledger: four threads do their bookkeeping. Only one at a time, as it turns
 * out: which lock do they wait for, and who has it? See docs/cookbook.md.
 */
#include <poll.h>
#include <pthread.h>

#define APART __attribute__((noinline))

enum { THREADS = 4, ENTRIES = 10, MS = 5 };

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long entries;

/* It sleeps while it holds the lock. */
static APART void
book(void)
{
	pthread_mutex_lock(&ledger_lock);
	poll(NULL, 0, MS);
	entries++;
	pthread_mutex_unlock(&ledger_lock);
}

static APART void
look_up(void)
{
	pthread_mutex_lock(&index_lock);
	entries++;
	pthread_mutex_unlock(&index_lock);
}

static void *
clerk(void *)
{
	for (int i = 0; i < ENTRIES; i++) {
		look_up();
		book();
	}
	return NULL;
}

int
main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, clerk, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
