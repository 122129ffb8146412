/*
 * Lets QEMU's main loop run only while all harts are idle, so that two runs of
 * a machine are the same, however busy the host is.
 *
 * Under -icount one thread of QEMU executes all harts, and counted instructions
 * are the time. The main loop is another thread, which wakes up at each of the
 * guest's deadlines. If it comes first it runs the timers itself, and another
 * hart is the next to execute than if the harts' thread does; and who comes
 * first is up to the host. With sleep=off the main loop has one task that can't
 * be left to the harts' thread: while all harts are idle it moves the time to
 * the next deadline.
 *
 * So in the main thread, QEMU's lock can be had only while the harts' thread
 * waits on a condition of that lock: it does so when all harts are idle. This
 * library is preloaded, and stands before the C library's functions for that.
 * The main loop goes on at once for what comes from outside: a signal, a file
 * that is ready, a serial line that is full; and after MOST_S seconds, so that
 * QEMU always answers in the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST_S 10
#define FILES  64
#define HARTS  "ALL CPUs/TCG" /* QEMU's name of the thread */

typedef int cond_wait_fn(pthread_cond_t *, pthread_mutex_t *);
typedef int mutex_lock_fn(pthread_mutex_t *);
typedef int ppoll_fn(struct pollfd *, nfds_t, const struct timespec *,
		     const sigset_t *);
typedef ssize_t writev_fn(int, const struct iovec *, int);

static cond_wait_fn *real_cond_wait;
static mutex_lock_fn *real_mutex_lock;
static ppoll_fn *real_ppoll;
static writev_fn *real_writev;

static _Thread_local bool is_main;
static pthread_mutex_t *_Atomic lock; /* QEMU's, once the harts have waited */
static atomic_bool idle;              /* the harts' thread waits */
static atomic_bool waiting;           /* the main thread does, for that */
static atomic_bool outside;           /* something came from there */
static atomic_bool open_for_ever;
static int wake;                   /* ends the main thread's wait */
static struct pollfd files[FILES]; /* the main loop's, from outside */
static nfds_t nfiles;

__attribute__((constructor)) static void
find_real(void)
{
	if (real_mutex_lock != NULL)
		return;
	real_cond_wait = (cond_wait_fn *)dlsym(RTLD_NEXT, "pthread_cond_wait");
	real_ppoll = (ppoll_fn *)dlsym(RTLD_NEXT, "ppoll");
	real_writev = (writev_fn *)dlsym(RTLD_NEXT, "writev");
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	is_main = true;
	real_mutex_lock = (mutex_lock_fn *)dlsym(RTLD_NEXT,
						 "pthread_mutex_lock");
}

static void
wake_main(void)
{
	uint64_t one = 1;

	if (waiting && write(wake, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

/* For who stops the harts and wants to ask QEMU: tally/plugins/cap. */
void
main_loop_open(void)
{
	open_for_ever = true;
	wake_main();
}

static bool
is_harts_thread(void)
{
	static _Thread_local int known;

	if (known == 0) {
		char name[16] = "";

		pthread_getname_np(pthread_self(), name, sizeof(name));
		known = strcmp(name, HARTS) == 0 ? 1 : -1;
	}
	return known == 1;
}

int
pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	int error;

	if (!is_harts_thread())
		return real_cond_wait(condition, mutex);
	lock = mutex;
	idle = true;
	wake_main();
	error = real_cond_wait(condition, mutex);
	idle = false;
	return error;
}

/* It stores, and then looks, as pthread_cond_wait does the other way round: one
 * of the two sees what the other has stored. */
static void
wait_for_idle(void)
{
	const struct timespec most = {.tv_sec = MOST_S};
	struct pollfd all[FILES + 1];
	uint64_t count;

	memcpy(all, files, nfiles * sizeof(*files));
	all[nfiles] = (struct pollfd){.fd = wake, .events = POLLIN};
	waiting = true;
	if (!idle && !outside && !open_for_ever &&
	    (real_ppoll(all, nfiles + 1, &most, NULL) != 1 ||
	     all[nfiles].revents == 0))
		outside = true;
	waiting = false;
	if (read(wake, &count, sizeof(count)) < 0)
		return; /* it was something else */
}

int
pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int error;

	find_real(); /* others' constructors may come before */
	if (!is_main || mutex != lock)
		return real_mutex_lock(mutex);
	for (;;) {
		while (!idle && !outside && !open_for_ever)
			wait_for_idle();
		error = real_mutex_lock(mutex);
		if (error != 0 || idle || outside || open_for_ever)
			break;
		pthread_mutex_unlock(mutex);
	}
	outside = false;
	return error;
}

/* What QEMU's threads wake each other with are no files that have a type. */
static bool
is_outside(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) != 0;
}

int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
      const sigset_t *mask)
{
	int ready = real_ppoll(fds, n, timeout, mask);
	int error = errno;

	if (!is_main)
		return ready;
	if (ready < 0 || n > FILES)
		outside = true;
	nfiles = 0;
	for (nfds_t i = 0; i < n && i < FILES; i++)
		if (is_outside(fds[i].fd)) {
			files[nfiles++] = fds[i];
			if (ready > 0 && fds[i].revents != 0)
				outside = true;
		}
	errno = error;
	return ready;
}

/* Who reads a serial line is slow: only the main loop sees when it goes on. */
ssize_t
writev(int fd, const struct iovec *parts, int n)
{
	ssize_t written = real_writev(fd, parts, n);
	int error = errno;

	if (written < 0 && error == EAGAIN) {
		outside = true;
		wake_main();
	}
	errno = error;
	return written;
}
