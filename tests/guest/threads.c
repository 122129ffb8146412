/*
 * Threads: they share memory and files, run at once, wait for each other; a
 * process ends, forks and execs with several of them. The library is safe
 * under them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "catch.h"

#define MANY   6
#define ROUNDS 5000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static long sum, turn, inits, destroyed;
static int hold; /* a word to sleep on */

/* Parts of one word: its neighbours are changed at the same time. */
static struct {
	uint16_t added, taken;
	uint8_t turned, swapped;
	uint16_t chained;
} parts;

/* The system call, which <pthread.h> hides. */
int futex_wait(const void *word, int value, const struct timespec *until);
int futex_wake(const void *word, int count);

static int
sleep_on(long word, int value, const struct timespec *until)
{
	return futex_wait((void *)word, value, until) < 0 ? errno : 0;
}

/* Run body in n threads, with 0.. as argument: did all give that back? */
static bool
run_threads(int n, void *(*body)(void *))
{
	pthread_t t[MANY];
	bool good = true;
	void *value;

	for (long i = 0; i < n; i++)
		good &= pthread_create(&t[i], NULL, body, (void *)i) == 0;
	for (long i = 0; good && i < n; i++)
		good &= pthread_join(t[i], &value) == 0 && value == (void *)i;
	return good;
}

static void
init_once(void)
{
	inits++;
	sched_yield();
}

static void *
add(void *arg)
{
	pthread_once(&once, init_once);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

/* Two take turns. */
static void *
alternate(void *arg)
{
	for (int i = 0; i < ROUNDS / 10; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (long)arg)
			pthread_cond_wait(&cond, &mutex);
		turn = !(long)arg;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

/* Each thread turns its own bit, last on. */
static void *
change_parts(void *arg)
{
	long c = (long)arg;
	bool good = true;

	for (int i = 0; i < ROUNDS + 1; i++) {
		uint16_t old = parts.chained;

		__atomic_fetch_add(&parts.added, 3, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&parts.taken, 1, __ATOMIC_RELAXED);
		__atomic_fetch_xor(&parts.turned, 1 << c, __ATOMIC_RELAXED);
		good &= __atomic_exchange_n(&parts.swapped, c + 1,
					    __ATOMIC_RELAXED) <= MANY;
		while (!__atomic_compare_exchange_n(
		    &parts.chained, &old, old * 5 + 1, false, __ATOMIC_RELAXED,
		    __ATOMIC_RELAXED))
			;
	}
	return good ? arg : (void *)-1;
}

static void *
allocate(void *arg)
{
	long c = (long)arg;
	bool good = true;

	for (int i = 0; i < ROUNDS / 5; i++) {
		size_t n = 1 + (i * 37 + c * 11) % 500;
		char *p = malloc(n);

		memset(p, c, n);
		for (size_t k = 0; k < n; k++)
			good &= p[k] == (char)c;
		free(p);
	}
	return good ? arg : (void *)-1;
}

static void *
set_errno(void *arg)
{
	bool good = true;

	for (int i = 0; i < 100; i++) {
		errno = (long)arg;
		sched_yield();
		good &= errno == (long)arg;
	}
	return good ? arg : (void *)-1;
}

static void *
ask_mask(void *arg)
{
	sigset_t mask = get_mask();

	return sigismember(&mask, SIGUSR1) == 1 ? arg : (void *)-1;
}

static void
test_mask(void)
{
	sigset_t before = get_mask(), mask = before;

	sigaddset(&mask, SIGUSR1);
	set_mask(mask);
	CHECK(run_threads(1, ask_mask),
	      "a thread begins with the mask of who makes it");
	set_mask(before);
}

static void
test_sharing(void)
{
	CHECK(run_threads(MANY, add) && sum == MANY * ROUNDS,
	      "a mutex lets one in at a time");
	CHECK(inits == 1, "once is once");
	CHECK(run_threads(2, alternate), "a condition wakes who waits");
	CHECK(run_threads(MANY, allocate), "malloc gives each its own");
	CHECK(run_threads(MANY, set_errno), "each has its own errno");
}

static FILE *shared;

static void *
print_lines(void *arg)
{
	for (int i = 0; i < 100; i++)
		fprintf(shared, "thread %ld writes a whole line, %d\n",
			(long)arg, i);
	return arg;
}

static void
test_small_atomics(void)
{
	uint16_t n = MANY * (ROUNDS + 1), chained = 0;

	for (unsigned int i = 0; i < n; i++)
		chained = chained * 5 + 1;
	parts.turned = 1 << MANY;
	CHECK(run_threads(MANY, change_parts), "atomics of one and two bytes");
	CHECK(parts.added == (uint16_t)(3 * n), "add loses nothing");
	CHECK(parts.taken == (uint16_t)-n, "nor does subtract");
	CHECK(parts.turned == (2 << MANY) - 1, "nor does xor");
	CHECK(parts.swapped > 0 && parts.swapped <= MANY, "one was last");
	CHECK(parts.chained == chained, "nor compare-and-swap");
}

static void
test_stdio(void)
{
	char line[80];
	int n = 0, whole = 0, i;
	long who;

	shared = fopen("lines", "w+");
	run_threads(MANY, print_lines);
	rewind(shared);
	for (; fgets(line, sizeof(line), shared); n++)
		whole += sscanf(line, "thread %ld writes a whole line, %d\n",
				&who, &i) == 2;
	CHECK(n == MANY * 100 && whole == n, "lines of one stream stay whole");
	fclose(shared);
	unlink("lines");
}

static void
destroy(void *value)
{
	destroyed += (long)value;
}

static void *
set_key(void *arg)
{
	pthread_setspecific(key, (void *)((long)arg + 1));
	sched_yield();
	return pthread_getspecific(key) == (char *)arg + 1 ? arg : (void *)-1;
}

static void
test_keys(void)
{
	CHECK(pthread_key_create(&key, destroy) == 0, "a key");
	CHECK(run_threads(1, set_key), "a thread finds its value");
	CHECK(destroyed == 1, "a destructor has the value at the end");
	CHECK(pthread_getspecific(key) == NULL, "others have theirs");
	CHECK(pthread_key_delete(key) == 0, "the key is given back");
	CHECK(pthread_setspecific(key, NULL) == EINVAL, "it is no key now");
}

static void
test_mutexes(void)
{
	pthread_mutex_t r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER;
	pthread_mutex_t e = {.type = PTHREAD_MUTEX_ERRORCHECK};
	struct timespec past = {0};

	CHECK(pthread_mutex_lock(&r) == 0 && pthread_mutex_lock(&r) == 0,
	      "a recursive mutex is locked twice");
	CHECK(pthread_mutex_unlock(&r) == 0 && pthread_mutex_unlock(&r) == 0 &&
		  pthread_mutex_unlock(&r) == EPERM,
	      "and unlocked twice");
	CHECK(pthread_mutex_lock(&e) == 0 && pthread_mutex_lock(&e) == EDEADLK,
	      "one that checks: EDEADLK");
	CHECK(pthread_mutex_trylock(&e) == EBUSY, "trylock: EBUSY");
	CHECK(pthread_mutex_destroy(&e) == EBUSY, "destroy: EBUSY");
	pthread_mutex_lock(&mutex);
	CHECK(pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT,
	      "timedwait: ETIMEDOUT");
	CHECK(pthread_mutex_trylock(&mutex) == EBUSY, "with the mutex locked");
	pthread_mutex_unlock(&mutex);
	CHECK(pthread_join(pthread_self(), NULL) == EDEADLK, "join: EDEADLK");
}

static void
test_futex(void)
{
	struct timespec past = {0}, wrong = {.tv_nsec = NS_PER_S};
	int word = 1;

	CHECK(sleep_on((long)&word, 0, NULL) == EAGAIN,
	      "futex_wait: the value has changed: EAGAIN");
	CHECK(sleep_on((long)&word + 1, 1, NULL) == EINVAL,
	      "futex_wait: unaligned: EINVAL");
	CHECK_ERRNO(futex_wake((char *)&word + 1, 1), EINVAL,
		    "futex_wake: unaligned: EINVAL");
	CHECK(sleep_on(0x70000000, 1, NULL) == EFAULT,
	      "futex_wait: nothing is there: EFAULT");
	CHECK(sleep_on((long)&word, 1, &past) == ETIMEDOUT,
	      "futex_wait: until the past: ETIMEDOUT");
	CHECK(sleep_on((long)&word, 1, &wrong) == EINVAL,
	      "futex_wait: no time: EINVAL");
	CHECK(futex_wake(&word, 1) == 0, "futex_wake: nobody sleeps");
}

static int doze;

static void *
sleep_once(void *arg)
{
	return sleep_on((long)&doze, 0, NULL) == 0 ? arg : (void *)-1;
}

/* Each wake is for so many as it says, however many sleep. */
static void
test_wakes(void)
{
	struct timespec nap = {.tv_nsec = 20 * NS_PER_MS};
	long most = 0, sum = 0;
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, sleep_once, NULL);
	nanosleep(&nap, NULL); /* most probably all sleep by then */
	while (sum < 3) {
		long n = futex_wake(&doze, 1);

		most = n > most ? n : most;
		sum += n;
		sched_yield();
	}
	CHECK(most == 1, "futex_wake: one at a time");
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

#define REQUEUE 3
#define COMPARE 4 /* and requeue */

/* The system call: wake up so many, and move so many others. */
int __futex(const void *word, int op, int wake, long move, const void *other,
	    int wanted);

/* Those who sleep can be moved to another word, on which one of them is woken
 * then; who sleeps on the first is found there no longer. */
static void
test_moves(void)
{
	static int other;
	pthread_t t[3];
	long moved = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, sleep_once, NULL);
	CHECK_ERRNO(__futex(&doze, COMPARE, 0, 3, &other, 1), EAGAIN,
		    "futex: none is moved if the value is another one");
	while (moved < 3)
		moved += __futex(&doze, COMPARE, 0, 1, &other, 0);
	CHECK(futex_wake(&doze, 3) == 0, "futex: all have been moved");
	CHECK(__futex(&other, REQUEUE, 1, 2, &doze, 0) == 1,
	      "futex: one is woken, two are moved back");
	CHECK(futex_wake(&other, 3) == 0 && futex_wake(&doze, 3) == 2,
	      "futex: there they are");
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void *
sleep_on_hold(void *arg)
{
	while (sleep_on((long)&hold, 0, NULL) != 0)
		;
	return arg;
}

static void *
spin(void *arg)
{
	volatile bool on = true;

	while (on)
		;
	return arg;
}

/* In a child: threads that sleep and threads that spin, then end. */
static int
with_threads(int (*end)(void))
{
	pid_t pid = fork();
	pthread_t t;

	if (pid != 0)
		return pid;
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, sleep_on_hold, NULL);
		pthread_create(&t, NULL, spin, NULL);
	}
	_exit(end());
}

static int
end_seven(void)
{
	return 7;
}

static int
end_killed(void)
{
	raise(SIGKILL);
	return 0;
}

static int
end_exec(void)
{
	execl("/bin/sh", "sh", "-c", "exit 9", NULL);
	return 1;
}

/* One that fails at each of its steps. */
static int
end_failed_execs(void)
{
	char *argv[] = {"sh", NULL}, *bad[] = {(char *)1, NULL};
	static char *many[20000];
	int errors = 0;

	for (int i = 0; i < 19999; i++)
		many[i] = "";
	file_make("text", "not a program");
	chmod("text", 0755);
	errors += execv("/bin/none", argv) == -1 && errno == ENOENT;
	errors += execv("/bin", argv) == -1 && errno == EACCES;
	errors += execv("/bin/sh", bad) == -1 && errno == EFAULT;
	errors += execv("/bin/sh", many) == -1 && errno == E2BIG;
	errors += execv("./text", argv) == -1 && errno == ENOEXEC;
	unlink("text");
	return errors == 5 && info_of(getpid()).threads == 5 ? 4 : 1;
}

static void *
leave_with_three(void *arg)
{
	(void)arg;
	exit(3);
}

static int
end_by_another(void)
{
	pthread_t t;

	pthread_create(&t, NULL, leave_with_three, NULL);
	pthread_exit(NULL);
}

static int
end_forked(void)
{
	pid_t pid = fork(); /* has one thread */

	if (pid == 0)
		_exit(5);
	return exited(pid, 5) ? 6 : 1;
}

static void
test_ends(void)
{
	CHECK(exited(with_threads(end_seven), 7), "exit ends all threads");
	CHECK(killed(with_threads(end_killed), SIGKILL), "so does a signal");
	CHECK(exited(with_threads(end_exec), 9), "exec leaves one");
	CHECK(exited(with_threads(end_failed_execs), 4),
	      "an exec that fails leaves all");
	CHECK(exited(with_threads(end_by_another), 3), "any may call exit");
	CHECK(exited(with_threads(end_forked), 6), "fork copies one");
}

static void
end_thread(int status)
{
	call(SYS_exit, status, 0);
}

static void *
end_with_four(void *arg)
{
	end_thread(4);
	return arg;
}

/* The process's status is its first thread's, whichever ends last. */
static int
end_each(void)
{
	pthread_t t;

	pthread_create(&t, NULL, end_with_four, NULL);
	pthread_join(t, NULL);
	end_thread(5);
	return 1;
}

static void *
end_last(void *arg)
{
	AWAIT(info_of(getpid()).threads == 1);
	end_thread(4);
	return arg;
}

static int
end_first(void)
{
	pthread_t t;

	pthread_create(&t, NULL, end_last, NULL);
	end_thread(6);
	return 1;
}

static void *
exec_tid(void *arg)
{
	char *argv[] = {"threads", "-t", NULL};

	execv("/bin/threads", argv);
	return arg;
}

static int
end_exec_by_another(void)
{
	pthread_t t;

	pthread_create(&t, NULL, exec_tid, NULL);
	pthread_join(t, NULL);
	return 1;
}

static void
test_thread_ends(void)
{
	CHECK(exited(child_start(end_each), 5), "the first thread ends last");
	CHECK(exited(child_start(end_first), 6), "or first");
	CHECK(exited(child_start(end_exec_by_another), 0),
	      "who execs is the first from then on");
}

/* --- Thread-local storage, and numbers --- */

static __thread char aligned[3] __attribute__((aligned(256))) = "ab";
static __thread long zeroes __attribute__((aligned(64)));
static pid_t tids[MANY];

static void *
look_at_own(void *arg)
{
	bool good = (uintptr_t)aligned % 256 == 0 &&
		    (uintptr_t)&zeroes % 64 == 0 && zeroes == 0 &&
		    strcmp(aligned, "ab") == 0;

	tids[(uintptr_t)arg] = call(SYS_gettid, 0, 0);
	aligned[0] = 'x';
	zeroes = 1;
	return good ? arg : (void *)-1;
}

static void
test_storage(void)
{
	int same = 0;

	CHECK(run_threads(MANY, look_at_own),
	      "thread-local data is aligned, and as at first");
	for (int i = 0; i < MANY; i++)
		for (int j = 0; j < i; j++)
			same += tids[i] == tids[j];
	CHECK(same == 0 && tids[0] > 32767, "each thread has its own tid");
	CHECK(call(SYS_gettid, 0, 0) == getpid(), "the first one's is the pid");
}

static struct timespec period = {60, 0};
static struct gate gate;

/* Have the other thread's sleep looked at again, when it's no time any more. */
static void *
spoil(void *arg)
{
	const sigset_t mask = sigmask(SIGCONT);

	gate_pass(gate);
	sigprocmask(SIG_BLOCK, &mask, NULL); /* it's for the other one */
	period.tv_nsec = -1;
	kill(getpid(), SIGCONT);
	return arg;
}

static void
test_spoiled_sleep(void)
{
	const struct timespec brief = {0, NS_PER_MS};
	long start = now_ns();
	pid_t sleeper = getpid(), pid;
	pthread_t t;

	gate = gate_make();
	pthread_create(&t, NULL, spoil, NULL);
	pid = fork();
	if (pid == 0) {
		AWAIT(state_of(sleeper) == 'S');
		gate_open(gate);
		_exit(0);
	}
	CHECK_ERRNO(nanosleep(&period, NULL), EINVAL,
		    "a sleep that goes on, and its time was overwritten");
	CHECK(nanosleep(&brief, NULL) == 0 && now_ns() - start < WAIT_MAX,
	      "the next one takes as long as it says");
	pthread_join(t, NULL);
	child_wait(pid);
	gate_remove(gate);
}

static void *
nothing(void *arg)
{
	return arg;
}

/* Threads come and go, none is left over. */
static void
test_many(void)
{
	long before;
	bool good = true;

	run_threads(MANY, nothing);
	before = pages_free();
	for (int i = 0; i < 100; i++)
		good &= run_threads(MANY, nothing);
	CHECK(good, "600 threads, one after another");
	CHECK(AWAIT(run_threads(1, nothing) && pages_free() + 8 >= before),
	      "their memory is given back");
}

/* end_exec_by_another's program. */
static int
is_first(void)
{
	return call(SYS_gettid, 0, 0) == getpid() ? 0 : 1;
}

int
main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return is_first();
	alarm(100);
	scratch_enter("threads");
	test_sharing();
	test_mask();
	test_small_atomics();
	test_stdio();
	test_keys();
	test_mutexes();
	test_futex();
	test_wakes();
	test_moves();
	test_ends();
	test_thread_ends();
	test_storage();
	test_spoiled_sleep();
	test_many();
	scratch_leave("threads");
	return check_done();
}
