/*
 * What is told of a signal, and how long it waits: queues and their bound,
 * waiting for a signal, the stack that handlers may have. (What Linux does in
 * all this is compared in tests/linux/signals.c and handlers.c.)
 */
#include <pthread.h>
#include <time.h>
#include <ucontext.h>

#include "catch.h"

#define QUEUE_MAX 128 /* real-time signals that wait, of a process */
#define RT        (SIGRTMIN + 3)

static siginfo_t last;
static ucontext_t context_then;

static void
keep(int sig, siginfo_t *info, void *context)
{
	last_sig = sig;
	last = *info;
	context_then = *(ucontext_t *)context;
	hits++;
}

static void
catch_info(int sig, int flags)
{
	struct sigaction act = {
	    .sa_sigaction = keep,
	    .sa_flags = SA_SIGINFO | flags,
	};

	hits = 0;
	memset(&last, -1, sizeof(last));
	sigaction(sig, &act, NULL);
}

static bool
only(int code)
{
	static const siginfo_t none;

	return last.si_signo == last_sig && last.si_errno == 0 &&
	       last.si_code == code && last.si_uid == 0 &&
	       memcmp(last.__size + 16, none.__size, 96) == 0;
}

static void
test_codes(void)
{
	catch_info(SIGUSR1, 0);
	kill(getpid(), SIGUSR1);
	CHECK(only(SI_USER) && last.si_pid == getpid(), "SI_USER: kill");
	raise(SIGUSR1);
	CHECK(only(SI_TKILL) && last.si_pid == getpid(), "SI_TKILL: raise");
	sigqueue(getpid(), SIGUSR1, (union sigval){.sival_ptr = &last});
	CHECK(last.si_code == SI_QUEUE && last.si_pid == getpid() &&
		  last.si_value.sival_ptr == &last,
	      "SI_QUEUE: sigqueue, and its value");
	catch_info(SIGALRM, 0);
	alarm(1);
	AWAIT(hits == 1);
	CHECK(only(SI_KERNEL), "SI_KERNEL: an alarm");
	alarm(DEADLINE);
}

/* The system call. */
int rt_sigqueueinfo(pid_t pid, int sig, const siginfo_t *info);

static void
test_forged(void)
{
	siginfo_t info = {.si_code = SI_KERNEL};

	CHECK_ERRNO(rt_sigqueueinfo(getppid(), 0, &info), EPERM,
		    "nobody sends others what the kernel sends");
	info.si_code = SI_QUEUE;
	CHECK(rt_sigqueueinfo(getppid(), 0, &info) == 0, "but what one may");
}

/* --- To one thread --- */

static volatile pid_t taken_by;
static volatile bool leave;
static volatile int rounds;

static void
keep_taker(int sig)
{
	(void)sig;
	taken_by = gettid();
}

static void *
spin(void *tid)
{
	*(volatile pid_t *)tid = gettid();
	for (; !leave; rounds++) {
		set_mask(0); /* looks for signals of the process's */
		sched_yield();
	}
	return NULL;
}

static void
test_thread(void)
{
	volatile pid_t tid = 0;
	pthread_t t;

	signal(SIGUSR1, keep_taker);
	pthread_create(&t, NULL, spin, (void *)&tid);
	AWAIT(tid != 0);
	CHECK(pthread_kill(t, SIGUSR1) == 0 && AWAIT(taken_by != 0) &&
		  taken_by == tid,
	      "pthread_kill: that thread takes it");
	taken_by = 0;
	CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 &&
		  taken_by == getpid(),
	      "pthread_kill: to itself, at once");
	set_mask(sigmask(SIGUSR1));
	taken_by = 0;
	pthread_kill(pthread_self(), SIGUSR1);
	rounds = 0;
	CHECK(AWAIT(rounds > 3) && taken_by == 0,
	      "pthread_kill: no other thread takes it, though this blocks it");
	set_mask(0);
	CHECK(taken_by == getpid(), "and then this one does");
	leave = true;
	pthread_join(t, NULL);
	CHECK_ERRNO(tgkill(getpid(), tid, 0), ESRCH, "and no thread after it");
	signal(SIGUSR1, SIG_DFL);
}

/* The set of those that wait has a bit for each, beginning with bit 0. */
static void
test_numbers(void)
{
	sigset_t set;

	set_mask(~0UL);
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGRTMAX);
	CHECK(get_pending() == (1UL | 1UL << 63), "signal n is bit n - 1");
	sigemptyset(&set);
	CHECK(sigaddset(&set, SIGRTMAX) == 0 && set == 1UL << 63 &&
		  sigismember(&set, SIGRTMAX) == 1,
	      "sigaddset: the last one");
	CHECK_ERRNO(sigaddset(&set, SIGRTMAX + 1), EINVAL, "and no further");
	signal(SIGHUP, SIG_IGN);
	signal(SIGRTMAX, SIG_IGN);
	CHECK(get_pending() == 0, "ignored, they wait no longer");
	signal(SIGHUP, SIG_DFL);
	signal(SIGRTMAX, SIG_DFL);
	set_mask(0);
}

/* As many as may wait, twice: none is lost, and none stays in use. */
static void
test_queue(void)
{
	const struct timespec none = {0};
	const sigset_t set = sigmask(RT);
	siginfo_t info;
	bool good = true;
	int n = 0;

	set_mask(sigmask(RT));
	for (int round = 0; round < 5; round++) {
		for (n = 0; sigqueue(getpid(), RT, (union sigval){n}) == 0; n++)
			;
		good &= n == QUEUE_MAX && errno == EAGAIN;
		for (n = 0; sigtimedwait(&set, &info, &none) == RT; n++)
			good &= info.si_value.sival_int == n;
		good &= n == QUEUE_MAX;
	}
	CHECK(good, "%d are queued, and come in order", n);
	for (n = 0; n < QUEUE_MAX; n++)
		sigqueue(getpid(), RT, (union sigval){n});
	CHECK(kill(getpid(), RT) == 0, "kill does without a queue");
	for (n = 0; sigtimedwait(&set, &info, &none) == RT; n++)
		;
	CHECK(n == QUEUE_MAX, "and is one with those that are queued: %d", n);
	for (n = 0; n < QUEUE_MAX; n++)
		sigqueue(getpid(), RT, (union sigval){n});
	signal(RT, SIG_IGN);
	CHECK(get_pending() == 0, "ignored, they are gone");
	signal(RT, SIG_DFL);
	set_mask(0);
}

static int
fill_queue(void)
{
	set_mask(sigmask(RT));
	while (sigqueue(getpid(), RT, (union sigval){0}) == 0)
		;
	return 0;
}

/* Processes that end with full queues: others' aren't less for it. */
static void
test_queue_of_dead(void)
{
	int n = 0;

	for (int i = 0; i < 10; i++)
		child_run(fill_queue);
	set_mask(sigmask(RT));
	while (sigqueue(getpid(), RT, (union sigval){0}) == 0)
		n++;
	CHECK(n == QUEUE_MAX, "what the dead had queued is free again");
	signal(RT, SIG_IGN);
	signal(RT, SIG_DFL);
	set_mask(0);
}

static int
end_when_waited_for(void)
{
	pid_t parent = getppid();

	return AWAIT(state_of(parent) == 'S') ? 0 : 1;
}

static void
test_wait(void)
{
	const struct timespec none = {0}, brief = {0, 1000000};
	sigset_t set = sigmask(SIGUSR1) | sigmask(SIGCHLD);
	siginfo_t info;
	int sig;

	set_mask(set);
	CHECK_ERRNO(sigtimedwait(&set, &info, &none), EAGAIN,
		    "sigtimedwait: none has come");
	CHECK_ERRNO(sigtimedwait(&set, &info, &brief), EAGAIN,
		    "sigtimedwait: nor after a while");
	CHECK(child_run(getpid) >= 0 && sigwaitinfo(&set, &info) == SIGCHLD &&
		  info.si_code == CLD_EXITED && get_mask() == set,
	      "sigwaitinfo: SIGCHLD, though it does nothing by default");
	child_start(end_when_waited_for);
	CHECK(sigwaitinfo(&set, &info) == SIGCHLD && wait(&sig) > 0,
	      "sigwaitinfo: as well if it comes during the wait");
	raise(SIGUSR1);
	CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR1, "sigwait");
	raise(SIGUSR1);
	CHECK_FAULTS(BAD_BUT_NULL, "sigtimedwait: info",
		     (raise(SIGUSR1), sigtimedwait(&set, bad, &none)));
	CHECK_FAULTS(BAD_BUT_NULL, "sigtimedwait: set",
		     sigtimedwait(bad, &info, &none));
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR1, SIG_DFL);
	set_mask(0);
}

/* --- The stack for handlers --- */

static char other[SIGSTKSZ] __attribute__((aligned(16)));

/* A handler that interrupts itself until its stack is full. */
static void
again(int sig)
{
	char here;

	if (&here < other)
		_exit(1);
	raise(sig);
}

static int changed, changed_errno;

static void
change(int sig)
{
	stack_t s = {.ss_flags = SS_DISABLE};

	(void)sig;
	changed = sigaltstack(&s, NULL);
	changed_errno = errno;
}

static void
test_altstack(void)
{
	stack_t s = {.ss_sp = other, .ss_size = sizeof(other)}, old;

	CHECK(sigaltstack(NULL, &old) == 0 && old.ss_flags == SS_DISABLE,
	      "sigaltstack: there is none at first");
	CHECK_FAULTS(BAD_BUT_NULL, "sigaltstack", sigaltstack(bad, NULL));
	CHECK_FAULTS(BAD_BUT_NULL, "sigaltstack: old", sigaltstack(NULL, bad));
	CHECK(sigaltstack(&s, NULL) == 0, "sigaltstack");
	catch_info(SIGUSR1, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(context_then.uc_stack.ss_sp == other &&
		  context_then.uc_stack.ss_size == sizeof(other),
	      "a handler finds which there is");
	sigaction(
	    SIGUSR1,
	    &(struct sigaction){.sa_handler = change, .sa_flags = SA_ONSTACK},
	    NULL);
	raise(SIGUSR1);
	CHECK(changed == -1 && changed_errno == EPERM,
	      "sigaltstack: not of the stack that is in use");
	s.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&s, &old) == 0 && old.ss_sp == other &&
		  sigaltstack(NULL, &old) == 0 && old.ss_flags == SS_DISABLE,
	      "sigaltstack: none again");
}

static int
fill_altstack(void)
{
	struct sigaction act = {
	    .sa_handler = again,
	    .sa_flags = SA_ONSTACK | SA_NODEFER,
	};
	stack_t s = {.ss_sp = other, .ss_size = sizeof(other)};

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	return 0;
}

static void
test_altstack_full(void)
{
	CHECK(killed(child_start(fill_altstack), SIGSEGV),
	      "a stack for handlers that is full is no stack");
}

int
main(void)
{
	alarm(DEADLINE);
	test_codes();
	test_forged();
	test_thread();
	test_numbers();
	test_queue();
	test_queue_of_dead();
	test_wait();
	test_altstack();
	test_altstack_full();
	return check_done();
}
