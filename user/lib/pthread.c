/*
 * Threads: making and ending them. Their mutexes and conditions are in
 * pthread_sync.c.
 *
 * A thread has one block of memory: its stack, which grows down from its
 * struct, and behind that its thread-local storage, where tp points. So the
 * struct is found from tp; but for the first thread, whose storage crt0 made.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locks.h"

#define STACK_SIZE 0x10000 /* bytes, by default */
#define ALIGN      16UL    /* of a struct, a stack, and storage at least */

#define FLAGS                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

struct __pthread {
	struct __pthread *next; /* of the detached */
	char *block;
	void *(*start)(void *);
	void *arg, *value;
	const void *specific[PTHREAD_KEYS_MAX];
	int detached;
	int tid; /* 0: it no longer uses the block */
} __attribute__((aligned(16)));

/* user.ld */
extern char __tls_main[], __tdata_start[], __tdata_size[], __tls_size[];
extern char __tls_align[];

/* System calls; stubs.S has the first. */
long __clone_thread(unsigned long flags, void *sp, int *parent_tid, void *tp,
		    int *child_tid, void (*start)(struct __pthread *),
		    struct __pthread *arg);
void __exit_thread(int status) __attribute__((noreturn));

static struct __pthread first_thread;
static struct __lock lock; /* guards what follows */
static struct __pthread *detached;
static struct {
	bool used;
	void (*destructor)(void *);
} keys[PTHREAD_KEYS_MAX];

static int running = 1; /* threads; atomic */

pthread_t
pthread_self(void)
{
	char *tp = __builtin_thread_pointer();

	return tp == __tls_main ? &first_thread : (pthread_t)tp - 1;
}

int
pthread_equal(pthread_t a, pthread_t b)
{
	return a == b;
}

/* A value that was set when its thread ends is given to its destructor. */
static void
run_destructors(struct __pthread *t)
{
	for (int i = 0; i < PTHREAD_KEYS_MAX; i++) {
		void *value = (void *)t->specific[i];

		t->specific[i] = NULL;
		if (value != NULL && keys[i].destructor != NULL)
			keys[i].destructor(value);
	}
}

void
pthread_exit(void *value)
{
	struct __pthread *t = pthread_self();

	run_destructors(t);
	t->value = value;
	/* The last one ends the process as exit would. */
	if (__atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL) == 0)
		exit(0);
	__exit_thread(0);
}

static void
begin(struct __pthread *t)
{
	pthread_exit(t->start(t->arg));
}

/* Free the blocks of detached threads that are gone. The lock is held. */
static void
reap(void)
{
	struct __pthread **link = &detached, *t;

	while ((t = *link) != NULL) {
		if (__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == 0) {
			*link = t->next;
			free(t->block);
		} else {
			link = &t->next;
		}
	}
}

/* GCC's analyzer doesn't see that a block is found again by what is in it. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"

/* A thread's block, all but what it is to do. */
static struct __pthread *
make_block(size_t stack)
{
	size_t tls = (uintptr_t)__tls_size, align = (uintptr_t)__tls_align;
	struct __pthread *t;
	char *block;

	if (align < ALIGN)
		align = ALIGN;
	block = malloc(stack + sizeof(*t) + align + tls);
	if (block == NULL)
		return NULL;
	t = (struct __pthread *)(((uintptr_t)block + stack + sizeof(*t) +
				  align - 1) &
				 -align) -
	    1;
	memset(t, 0, sizeof(*t) + tls);
	memcpy(t + 1, __tdata_start, (uintptr_t)__tdata_size);
	t->block = block;
	return t;
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	       void *(*start)(void *), void *arg)
{
	struct __pthread *t = make_block(attr ? attr->stack_size : STACK_SIZE);
	int e = errno;

	if (t == NULL)
		return EAGAIN;
	t->start = start;
	t->arg = arg;
	t->detached = attr && attr->detached;
	__threaded = true;
	lock_take(&lock);
	reap();
	*thread = t;
	__atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
	t->tid = 1; /* until clone stores it */
	if (__clone_thread(FLAGS, t, &t->tid, t + 1, &t->tid, begin, t) < 0) {
		__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
		lock_give(&lock);
		free(t->block);
		errno = e;
		return EAGAIN;
	}
	if (t->detached) {
		t->next = detached;
		detached = t;
	}
	lock_give(&lock);
	return 0;
}

int
pthread_join(pthread_t t, void **value)
{
	int e = errno, tid;

	if (t == pthread_self())
		return EDEADLK;
	if (t->detached)
		return EINVAL;
	while ((tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE)) != 0)
		futex_wait(&t->tid, tid, NULL);
	errno = e;
	if (value != NULL)
		*value = t->value;
	free(t->block);
	return 0;
}

int
pthread_detach(pthread_t t)
{
	int result = 0;

	lock_take(&lock);
	if (t->detached || t == &first_thread) {
		result = EINVAL;
	} else {
		t->detached = 1;
		t->next = detached;
		detached = t;
	}
	lock_give(&lock);
	return result;
}

/* --- Signals --- */

int
pthread_kill(pthread_t thread, int sig)
{
	int tid = thread == &first_thread
		      ? getpid()
		      : __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
	int before = errno, error = 0;

	if (tid == 0)
		return ESRCH; /* it has ended */
	if (tgkill(getpid(), tid, sig) < 0)
		error = errno;
	errno = before;
	return error;
}

/* --- Attributes --- */

int
pthread_attr_init(pthread_attr_t *attr)
{
	*attr = (pthread_attr_t){.stack_size = STACK_SIZE};
	return 0;
}

int
pthread_attr_destroy(pthread_attr_t *attr)
{
	(void)attr;
	return 0;
}

int
pthread_attr_setstacksize(pthread_attr_t *attr, size_t size)
{
	if (size < PTHREAD_STACK_MIN)
		return EINVAL;
	attr->stack_size = size;
	return 0;
}

int
pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *size)
{
	*size = attr->stack_size;
	return 0;
}

int
pthread_attr_setdetachstate(pthread_attr_t *attr, int state)
{
	if (state != PTHREAD_CREATE_JOINABLE &&
	    state != PTHREAD_CREATE_DETACHED)
		return EINVAL;
	attr->detached = state;
	return 0;
}

/* --- Thread-specific data --- */

int
pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	int result = EAGAIN;

	lock_take(&lock);
	for (int i = 0; i < PTHREAD_KEYS_MAX && result != 0; i++) {
		if (keys[i].used)
			continue;
		keys[i].used = true;
		keys[i].destructor = destructor;
		*key = i;
		result = 0;
	}
	lock_give(&lock);
	return result;
}

static bool
is_key(pthread_key_t key)
{
	return key >= 0 && key < PTHREAD_KEYS_MAX && keys[key].used;
}

int
pthread_key_delete(pthread_key_t key)
{
	if (!is_key(key))
		return EINVAL;
	keys[key].destructor = NULL;
	keys[key].used = false;
	return 0;
}

void *
pthread_getspecific(pthread_key_t key)
{
	return is_key(key) ? (void *)pthread_self()->specific[key] : NULL;
}

int
pthread_setspecific(pthread_key_t key, const void *value)
{
	if (!is_key(key))
		return EINVAL;
	pthread_self()->specific[key] = value;
	return 0;
}
