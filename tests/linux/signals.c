/*
 * Signals of Linux: what a handler is told of them, in which order they come,
 * masks, waiting for one, and what a call does that one interrupts.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "promise.h"

#define RT (SIGRTMIN + 1)

static const char *
yes(int is)
{
	return is ? "yes" : "no";
}

static const char *
result(long r)
{
	static char text[2][40];
	static int i;
	char *t = text[i++ % 2];

	if (r == -1)
		return strerrorname_np(errno);
	snprintf(t, sizeof(text[0]), "%ld", r);
	return t;
}

/* What was told of a signal, without what differs from machine to machine. */
static void
tell(const char *what, const siginfo_t *i)
{
	printf("%s: signal %d errno %d code %d", what, i->si_signo, i->si_errno,
	       i->si_code);
	if (i->si_signo == SIGCHLD && i->si_code > 0)
		printf(" status %d", i->si_status);
	if (i->si_code == SI_QUEUE)
		printf(" value %d", i->si_value.sival_int);
	if (i->si_code == SI_USER || i->si_code == SI_QUEUE ||
	    i->si_code == SI_TKILL)
		printf(" self %s uid %s", yes(i->si_pid == getpid()),
		       yes(i->si_uid == getuid() || i->si_uid == 0));
	printf("\n");
}

static volatile int hits;
static const char *volatile from = "handler";

static void
told(int sig, siginfo_t *info, void *context)
{
	(void)context;
	hits++;
	if (sig != info->si_signo)
		printf("%d isn't %d\n", sig, info->si_signo);
	tell(from, info);
}

static void
count(int sig)
{
	(void)sig;
	hits++;
}

static void catch (int sig, int flags)
{
	struct sigaction act = {.sa_sigaction = told, .sa_flags = flags};

	sigaction(sig, &act, NULL);
}

static sigset_t
set_of(int a, int b)
{
	sigset_t set;

	sigemptyset(&set);
	if (a != 0)
		sigaddset(&set, a);
	if (b != 0)
		sigaddset(&set, b);
	return set;
}

static void
block(int a, int b)
{
	sigset_t set = set_of(a, b);

	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void
who_sends(void)
{
	union sigval value = {.sival_int = 77};

	catch (SIGUSR1, SA_SIGINFO);
	catch (SIGRTMIN + 1, SA_SIGINFO);
	catch (SIGPIPE, SA_SIGINFO);
	catch (SIGALRM, SA_SIGINFO);
	kill(getpid(), SIGUSR1);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGUSR1, value);
	sigqueue(getpid(), SIGRTMIN + 1, value);
	kill(getpid(), SIGRTMIN + 1);
	syscall(SYS_tkill, getpid(), SIGUSR1);

	int fd[2];
	pipe(fd);
	close(fd[0]);
	printf("write: %s\n", result(write(fd[1], "x", 1)));
	setitimer(ITIMER_REAL, &(struct itimerval){{0}, {0, 1000}}, NULL);
	while (hits < 8)
		usleep(1000);
	printf("%d signals\n", hits);
}

static void
errors(void)
{
	struct sigaction act = {.sa_handler = count};
	siginfo_t info = {.si_code = SI_USER};
	union sigval value = {0};

	printf("kill 65: %s\n", result(kill(getpid(), 65)));
	printf("kill -1: %s\n", result(kill(getpid(), -1)));
	printf("kill nobody: %s\n", result(kill(99999999, 0)));
	printf("sigqueue nobody: %s\n", result(sigqueue(99999999, 0, value)));
	printf("sigqueue 65: %s\n", result(sigqueue(getpid(), 65, value)));
	printf("sigqueue 0: %s\n", result(sigqueue(getpid(), 0, value)));
	printf("tkill 0: %s\n", result(syscall(SYS_tkill, 0, 0)));
	printf("tkill nobody: %s\n", result(syscall(SYS_tkill, 99999999, 0)));
	printf("tgkill: %s\n",
	       result(syscall(SYS_tgkill, getpid(), getpid(), 0)));
	printf("tgkill of no thread: %s\n",
	       result(syscall(SYS_tgkill, getpid(), 99999999, 0)));
	printf("tgkill -1: %s\n", result(syscall(SYS_tgkill, -1, getpid(), 0)));
	printf("to the parent as the kernel: %s\n",
	       result(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info)));
	printf("without info: %s\n",
	       result(syscall(SYS_rt_sigqueueinfo, getpid(), 0, NULL)));
	printf("SIGKILL: %s\n", result(sigaction(SIGKILL, &act, NULL)));
	printf("SIGSTOP: %s\n", result(sigaction(SIGSTOP, &act, NULL)));
	printf("size: %s\n",
	       result(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 16)));
	printf("size of a mask: %s\n",
	       result(syscall(SYS_rt_sigprocmask, 0, NULL, NULL, 4)));
	printf("how: %s\n", result(sigprocmask(9, &act.sa_mask, NULL)));
	printf("how, asked: %s\n", result(sigprocmask(9, NULL, &act.sa_mask)));
}

/* All flags that there are can be set, and are told. */
static void
flags(void)
{
	struct sigaction act = {.sa_handler = count}, old;

	act.sa_flags = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK |
		       SA_RESTART | SA_NODEFER | SA_RESETHAND;
	sigfillset(&act.sa_mask);
	sigaction(SIGUSR2, &act, NULL);
	sigaction(SIGUSR2, NULL, &old);
	printf("flags: %s, KILL in the mask: %d, HUP: %d\n",
	       yes((old.sa_flags & act.sa_flags) == act.sa_flags),
	       sigismember(&old.sa_mask, SIGKILL),
	       sigismember(&old.sa_mask, SIGHUP));
	act.sa_flags = SA_RESETHAND;
	sigaction(SIGUSR2, &act, NULL);
	hits = 0;
	raise(SIGUSR2);
	sigaction(SIGUSR2, NULL, &old);
	printf("SA_RESETHAND: %d, default %s\n", hits,
	       yes(old.sa_handler == SIG_DFL));
}

/* Real-time signals come with the lowest number first, those of one number in
 * the order in which they were sent; others once. */
static void
order(void)
{
	sigset_t all, pending;
	union sigval value;

	for (int sig = 1; sig < 4; sig++)
		catch (SIGRTMIN + sig, SA_SIGINFO);
	catch (SIGUSR1, SA_SIGINFO);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (value.sival_int = 0; value.sival_int < 6; value.sival_int++)
		sigqueue(getpid(), SIGRTMIN + 3 - value.sival_int % 3, value);
	for (value.sival_int = 10; value.sival_int < 13; value.sival_int++)
		sigqueue(getpid(), SIGUSR1, value);
	sigpending(&pending);
	printf("pending: %d %d %d\n", sigismember(&pending, SIGUSR1),
	       sigismember(&pending, SIGRTMIN + 2),
	       sigismember(&pending, SIGUSR2));
	/* Each handler's frame lies below the one before: so they run from the
	 * last to the first, unless each blocks all others. */
	for (int sig = SIGRTMIN + 1; sig < SIGRTMIN + 4; sig++) {
		struct sigaction act = {.sa_sigaction = told,
					.sa_flags = SA_SIGINFO};

		sigfillset(&act.sa_mask);
		sigaction(sig, &act, NULL);
	}
	from = "in order";
	block(0, 0);
	from = "handler";
}

static void
masks_of(int sig)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	printf("in %d: USR1 %d USR2 %d HUP %d\n", sig,
	       sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2),
	       sigismember(&now, SIGHUP));
	if (hits++ == 0)
		raise(sig);
	printf("out of %d\n", sig);
}

static void
masks(void)
{
	struct sigaction act = {.sa_handler = masks_of};

	act.sa_mask = set_of(SIGHUP, 0);
	hits = 0;
	sigaction(SIGUSR1, &act, NULL);
	block(SIGUSR2, 0);
	raise(SIGUSR1);
	hits = 0;
	act.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	masks_of(0);
	block(0, 0);
}

static void
waiting(void)
{
	struct timespec none = {0}, brief = {0, 2000000};
	sigset_t set = set_of(SIGCHLD, SIGRTMIN + 1);
	siginfo_t info;
	union sigval value = {.sival_int = 5};

	block(SIGCHLD, SIGRTMIN + 1);
	printf("none: %s\n", result(sigtimedwait(&set, &info, &none)));
	printf("brief: %s\n", result(sigtimedwait(&set, &info, &brief)));
	brief.tv_nsec = -1;
	printf("bad: %s\n", result(sigtimedwait(&set, &info, &brief)));
	sigqueue(getpid(), SIGRTMIN + 1, value);
	printf("it is %s\n", yes(sigwaitinfo(&set, &info) == SIGRTMIN + 1));
	tell("waited", &info);
	/* By default SIGCHLD does nothing: blocked, it waits all the same. */
	pid_t pid = fork();
	if (pid == 0)
		_exit(9);
	printf("it is %s\n", yes(sigwaitinfo(&set, &info) == SIGCHLD));
	printf("of the child %s\n", yes(info.si_pid == pid));
	tell("waited", &info);
	waitpid(pid, NULL, 0);
	block(0, 0);
}

/* A child that does one thing after the other, and what SIGCHLD tells. */
static void
children(void)
{
	sigset_t set = set_of(SIGCHLD, 0);
	siginfo_t info;
	pid_t pid;
	int fd[2];
	char c;

	block(SIGCHLD, 0);
	pipe(fd);
	pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		read(fd[0], &c, 1);
		raise(SIGTERM);
	}
	sigwaitinfo(&set, &info);
	tell("stopped", &info);
	kill(pid, SIGCONT);
	sigwaitinfo(&set, &info);
	tell("continued", &info);
	write(fd[1], "x", 1);
	sigwaitinfo(&set, &info);
	tell("killed", &info);
	waitpid(pid, NULL, 0);

	struct sigaction act = {.sa_handler = SIG_DFL,
				.sa_flags = SA_NOCLDWAIT};
	sigaction(SIGCHLD, &act, NULL);
	if (fork() == 0)
		_exit(0);
	printf("SA_NOCLDWAIT: %s\n", result(wait(NULL)));
	act.sa_flags = SA_NOCLDSTOP;
	sigaction(SIGCHLD, &act, NULL);
	while (sigtimedwait(&set, &info, &(struct timespec){0}) > 0)
		;
	pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(3);
	}
	waitpid(pid, NULL, WUNTRACED);
	printf("SA_NOCLDSTOP: %s\n",
	       result(sigtimedwait(&set, &info, &(struct timespec){0})));
	kill(pid, SIGCONT);
	waitpid(pid, NULL, 0);
	sigwaitinfo(&set, &info);
	tell("exited", &info);
	act.sa_flags = 0;
	sigaction(SIGCHLD, &act, NULL);
	block(0, 0);
}

/* Somebody who sends a signal again and again until he is killed. */
static pid_t
disturb(int sig)
{
	pid_t to = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	for (;;) {
		usleep(5000);
		kill(to, sig);
	}
}

static void
calm(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int feed[2];

/* The third one feeds who waits. */
static void
count_and_feed(int sig)
{
	(void)sig;
	if (++hits == 3)
		write(feed[1], "x", 1);
}

static void
interrupted(void)
{
	struct sigaction act = {.sa_handler = count};
	struct timespec long_one = {100, 0}, left = {0};
	sigset_t set = set_of(RT, 0);
	siginfo_t info;
	char c;

	sigaction(SIGUSR1, &act, NULL);
	pid_t pid = disturb(SIGUSR1);
	printf("nanosleep: %s", result(nanosleep(&long_one, &left)));
	printf(", left %s\n", yes(left.tv_sec == 99));
	printf("pause: %s\n", result(pause()));
	printf("sigsuspend: %s\n", result(sigsuspend(&act.sa_mask)));
	printf("sigwaitinfo: %s\n", result(sigwaitinfo(&set, &info)));
	printf("read: %s\n", result(read(feed[0], &c, 1)));
	printf("wait: %s\n", result(waitpid(pid, NULL, 0)));
	calm(pid);
}

static void
restarted(void)
{
	struct sigaction act = {.sa_handler = count_and_feed,
				.sa_flags = SA_RESTART};
	struct timespec long_one = {100, 0};
	sigset_t set = set_of(RT, 0);
	siginfo_t info;
	int status;
	char c;

	sigaction(SIGUSR1, &act, NULL);
	pid_t pid = disturb(SIGUSR1);
	hits = 0;
	printf("read: %s", result(read(feed[0], &c, 1)));
	printf(", disturbed %s\n", yes(hits >= 3));
	hits = 0;
	pid_t reader = fork();
	if (reader == 0) {
		read(feed[0], &c, 1);
		_exit(4);
	}
	printf("wait: %s", yes(waitpid(reader, &status, 0) == reader));
	printf(", %d, disturbed %s\n", WEXITSTATUS(status), yes(hits >= 3));
	/* These aren't made again, whatever was wished. */
	printf("nanosleep: %s\n", result(nanosleep(&long_one, NULL)));
	printf("pause: %s\n", result(pause()));
	printf("sigwaitinfo: %s\n", result(sigwaitinfo(&set, &info)));
	calm(pid);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	PROMISE("sigaction(2): who has sent a signal, and how");
	who_sends();
	PROMISE("kill(2), sigqueue(3): each error");
	errors();
	PROMISE("sigaction(2): SA_NODEFER, SA_RESETHAND, SA_RESTART");
	flags();
	PROMISE("signal(7): real-time signals are queued, the lowest first");
	order();
	PROMISE("sigprocmask(2): what is blocked waits");
	masks();
	PROMISE("sigtimedwait(2): a signal is waited for");
	waiting();
	PROMISE("wait(2): SIGCHLD, and children that nobody waits for");
	children();
	PROMISE("signal(7): a call that is interrupted");
	pipe(feed);
	interrupted();
	PROMISE("signal(7): calls that are made again");
	restarted();
	return 0;
}
