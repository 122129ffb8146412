/*
 * Mutexes, conditions, once. A mutex is a lock's word (locks.h); a condition
 * counts its signals, and who waits sleeps until the count has changed.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "locks.h"

#define NS_PER_S 1000000000L

static int
mutex_taken(pthread_mutex_t *m)
{
	__atomic_store_n(&m->owner, (void *)pthread_self(), __ATOMIC_RELAXED);
	m->depth = 1;
	return 0;
}

/* Has the caller locked it? Only it itself can find that it has. */
static bool
is_mine(pthread_mutex_t *m)
{
	return __atomic_load_n(&m->owner, __ATOMIC_RELAXED) ==
	       (void *)pthread_self();
}

int
pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	*m = (pthread_mutex_t){.type = attr ? attr->type : 0};
	return 0;
}

int
pthread_mutex_destroy(pthread_mutex_t *m)
{
	return m->word ? EBUSY : 0;
}

int
pthread_mutex_lock(pthread_mutex_t *m)
{
	if (m->type != PTHREAD_MUTEX_NORMAL && is_mine(m)) {
		if (m->type == PTHREAD_MUTEX_ERRORCHECK)
			return EDEADLK;
		m->depth++;
		return 0;
	}
	word_lock(&m->word, NULL);
	return mutex_taken(m);
}

int
pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (m->type == PTHREAD_MUTEX_RECURSIVE && is_mine(m)) {
		m->depth++;
		return 0;
	}
	return word_try(&m->word) ? mutex_taken(m) : EBUSY;
}

int
pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (m->type != PTHREAD_MUTEX_NORMAL && !is_mine(m))
		return EPERM;
	if (--m->depth > 0)
		return 0;
	__atomic_store_n(&m->owner, NULL, __ATOMIC_RELAXED);
	word_unlock(&m->word);
	return 0;
}

int
pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
	attr->type = PTHREAD_MUTEX_DEFAULT;
	return 0;
}

int
pthread_mutexattr_destroy(pthread_mutexattr_t *attr)
{
	(void)attr;
	return 0;
}

int
pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
	if (type < PTHREAD_MUTEX_NORMAL || type > PTHREAD_MUTEX_ERRORCHECK)
		return EINVAL;
	attr->type = type;
	return 0;
}

/* --- Conditions --- */

int
pthread_condattr_init(pthread_condattr_t *attr)
{
	attr->clock = CLOCK_REALTIME;
	return 0;
}

int
pthread_condattr_destroy(pthread_condattr_t *attr)
{
	(void)attr;
	return 0;
}

int
pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	attr->clock = clock;
	return 0;
}

int
pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	*c = (pthread_cond_t){.clock = attr ? attr->clock
					    : (int)CLOCK_REALTIME};
	return 0;
}

int
pthread_cond_destroy(pthread_cond_t *c)
{
	(void)c;
	return 0;
}

/* What the monotonic clock shows when another shows t. */
static struct timespec
monotonic(int clock, struct timespec t)
{
	struct timespec now, base;
	long ns;

	if (clock == CLOCK_MONOTONIC)
		return t;
	clock_gettime(clock, &now);
	clock_gettime(CLOCK_MONOTONIC, &base);
	ns = (t.tv_sec - now.tv_sec + base.tv_sec) * NS_PER_S + t.tv_nsec -
	     now.tv_nsec + base.tv_nsec;
	ns = ns < 0 ? 0 : ns;
	return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

/* A signal after the mutex is unlocked changes the count: no sleep then. */
static int
cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	int changes = __atomic_load_n(&c->changes, __ATOMIC_ACQUIRE);
	int depth = m->depth, e = errno, result = 0;

	m->depth = 1;
	if (pthread_mutex_unlock(m) != 0)
		return EPERM;
	if (futex_wait(&c->changes, changes, until) < 0 && errno == ETIMEDOUT)
		result = ETIMEDOUT;
	errno = e;
	pthread_mutex_lock(m);
	m->depth = depth;
	return result;
}

int
pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return cond_wait(c, m, NULL);
}

int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
		       const struct timespec *until)
{
	struct timespec t;

	if (until->tv_nsec < 0 || until->tv_nsec >= NS_PER_S)
		return EINVAL;
	t = monotonic(c->clock, *until);
	return cond_wait(c, m, &t);
}

static int
cond_wake(pthread_cond_t *c, int count)
{
	__atomic_add_fetch(&c->changes, 1, __ATOMIC_RELEASE);
	futex_wake(&c->changes, count);
	return 0;
}

int
pthread_cond_signal(pthread_cond_t *c)
{
	return cond_wake(c, 1);
}

int
pthread_cond_broadcast(pthread_cond_t *c)
{
	return cond_wake(c, INT_MAX);
}

/* --- Once --- */

enum { NOT_YET, AT_IT, DONE };

int
pthread_once(pthread_once_t *once, void (*init)(void))
{
	int state = NOT_YET, e = errno;

	if (__atomic_compare_exchange_n(once, &state, AT_IT, false,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		init();
		__atomic_store_n(once, DONE, __ATOMIC_RELEASE);
		futex_wake(once, INT_MAX);
	}
	while (__atomic_load_n(once, __ATOMIC_ACQUIRE) != DONE)
		futex_wait(once, AT_IT, NULL);
	errno = e;
	return 0;
}
