/*
 * Locks: of a word that a thread can sleep on. The C library takes them around
 * malloc, the environment and the like, through the functions whose names
 * begin with __retarget_lock.
 */
#include "locks.h"

#include "call.h"

#include <errno.h>
#include <limits.h>
#include <sys/lock.h>

#define WAIT_BITSET 9 /* futex's operations */
#define WAKE        1
#define PRIVATE     128

/* Sleep while the word has this value, until somebody wakes this thread up. */
int
futex_wait(const int *word, int value, const struct timespec *until)
{
	return system_call(SYS_futex, (long)word, WAIT_BITSET | PRIVATE, value,
			   (long)until, 0, ~0u);
}

int
futex_wake(const int *word, int count)
{
	return system_call(SYS_futex, (long)word, WAKE | PRIVATE, count, 0, 0,
			   0);
}

bool __threaded;
struct __lock __lock___libc_recursive_mutex;

bool
word_try(int *word)
{
	int free = 0;

	return __atomic_compare_exchange_n(word, &free, 1, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Who has waited takes it as waited for: it can't tell whether others are. */
int
word_lock(int *word, const struct timespec *until)
{
	int e = errno, result = 0;

	if (word_try(word))
		return 0;
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE) != 0) {
		if (futex_wait(word, 2, until) < 0 && errno == ETIMEDOUT) {
			result = ETIMEDOUT;
			break;
		}
	}
	errno = e;
	return result;
}

void
word_unlock(int *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		futex_wake(word, 1);
}

static void *
self(void)
{
	return __builtin_thread_pointer();
}

/* Only the owner itself finds itself there. */
static bool
is_mine(const struct __lock *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == self();
}

void
lock_take(struct __lock *lock)
{
	if (!__threaded)
		return;
	if (!is_mine(lock)) {
		word_lock(&lock->word, NULL);
		__atomic_store_n(&lock->owner, self(), __ATOMIC_RELAXED);
	}
	lock->depth++;
}

bool
lock_try(struct __lock *lock)
{
	if (!__threaded)
		return true;
	if (!is_mine(lock)) {
		if (!word_try(&lock->word))
			return false;
		__atomic_store_n(&lock->owner, self(), __ATOMIC_RELAXED);
	}
	lock->depth++;
	return true;
}

/* One that was taken before there were threads isn't given back. */
void
lock_give(struct __lock *lock)
{
	if (!__threaded || !is_mine(lock) || --lock->depth > 0)
		return;
	__atomic_store_n(&lock->owner, NULL, __ATOMIC_RELAXED);
	word_unlock(&lock->word);
}

/* --- As the C library calls them. It makes none of its own. --- */

void
__retarget_lock_init(_LOCK_T *lock)
{
	(void)lock;
}

void
__retarget_lock_close(_LOCK_T lock)
{
	(void)lock;
}

void
__retarget_lock_acquire(_LOCK_T lock)
{
	lock_take(lock);
}

int
__retarget_lock_try_acquire(_LOCK_T lock)
{
	return lock_try(lock);
}

void
__retarget_lock_release(_LOCK_T lock)
{
	lock_give(lock);
}

#define ALIAS(name) __attribute__((alias(#name)))
ALIAS(__retarget_lock_init) void __retarget_lock_init_recursive(_LOCK_T *);
ALIAS(__retarget_lock_close) void __retarget_lock_close_recursive(_LOCK_T);
ALIAS(__retarget_lock_acquire) void __retarget_lock_acquire_recursive(_LOCK_T);
ALIAS(__retarget_lock_try_acquire)
int __retarget_lock_try_acquire_recursive(_LOCK_T);
ALIAS(__retarget_lock_release) void __retarget_lock_release_recursive(_LOCK_T);
