/*
 * POSIX threads: the part of it that programs use most. A thread runs on any
 * hart; those of a process run at once. There is no cancellation, no
 * scheduling policy, and no lock between processes.
 *
 * Functions give 0 or an error number, as POSIX has it, and leave errno alone.
 */
#ifndef _PTHREAD_H
#define _PTHREAD_H

#include <sys/cdefs.h>
#include <sys/types.h>
#include <time.h>

#define PTHREAD_KEYS_MAX  32
#define PTHREAD_STACK_MIN 4096 /* bytes */

#define PTHREAD_CREATE_JOINABLE 0
#define PTHREAD_CREATE_DETACHED 1

#define PTHREAD_MUTEX_NORMAL     0
#define PTHREAD_MUTEX_RECURSIVE  1
#define PTHREAD_MUTEX_ERRORCHECK 2
#define PTHREAD_MUTEX_DEFAULT    PTHREAD_MUTEX_NORMAL

typedef struct __pthread *pthread_t;
typedef int pthread_key_t;
typedef int pthread_once_t; /* 0 not yet, 1 at it, 2 done */

typedef struct {
	int detached;
	size_t stack_size;
} pthread_attr_t;

typedef struct {
	int type;
} pthread_mutexattr_t;

typedef struct {
	int word, type, depth;
	void *owner;
} pthread_mutex_t;

typedef struct {
	int clock;
} pthread_condattr_t;

typedef struct {
	int changes; /* how often it was signalled */
	int clock;   /* of timed waits */
} pthread_cond_t;

#define PTHREAD_MUTEX_INITIALIZER \
	{                         \
		0                 \
	}
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER     \
	{                                       \
		.type = PTHREAD_MUTEX_RECURSIVE \
	}
#define PTHREAD_COND_INITIALIZER        \
	{                               \
		.clock = CLOCK_REALTIME \
	}
#define PTHREAD_ONCE_INIT 0

__BEGIN_DECLS
/* EAGAIN: no memory, or too many threads. attr may be NULL: 64 KiB of stack,
 * joinable. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *), void *arg);
void pthread_exit(void *value) __attribute__((noreturn));
/* EDEADLK: for itself; EINVAL: it is detached. */
int pthread_join(pthread_t thread, void **value);
int pthread_detach(pthread_t thread);
pthread_t pthread_self(void);
int pthread_kill(pthread_t thread, int sig); /* ESRCH: it has ended */
int pthread_equal(pthread_t a, pthread_t b);

int pthread_attr_init(pthread_attr_t *attr);
int pthread_attr_destroy(pthread_attr_t *attr);
/* EINVAL: less than PTHREAD_STACK_MIN. */
int pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *size);
int pthread_attr_setdetachstate(pthread_attr_t *attr, int state);

int pthread_mutexattr_init(pthread_mutexattr_t *attr);
int pthread_mutexattr_destroy(pthread_mutexattr_t *attr);
int pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type);
int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int pthread_mutex_destroy(pthread_mutex_t *m); /* EBUSY: it is locked */
/* EDEADLK: an error-checking one that is the caller's already. */
int pthread_mutex_lock(pthread_mutex_t *m);
int pthread_mutex_trylock(pthread_mutex_t *m); /* EBUSY */
/* EPERM: not the caller's, if it is one that checks. */
int pthread_mutex_unlock(pthread_mutex_t *m);

int pthread_condattr_init(pthread_condattr_t *attr);
int pthread_condattr_destroy(pthread_condattr_t *attr);
int pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock);
int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr);
int pthread_cond_destroy(pthread_cond_t *c);
/* They may return without a signal: test the condition again. */
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
/* until is a time of the condition's clock. ETIMEDOUT. */
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			   const struct timespec *until);
int pthread_cond_signal(pthread_cond_t *c);
int pthread_cond_broadcast(pthread_cond_t *c);

int pthread_once(pthread_once_t *once, void (*init)(void));

/* EAGAIN: no key is left. Destructors run when a thread ends, once. */
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int pthread_key_delete(pthread_key_t key);
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);
__END_DECLS
#endif
