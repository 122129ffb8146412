/*
 * Signals: what of them isn't a system call. The C library has some of these
 * too, but only signals of its own that never leave the process, and other
 * numbers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The system calls, which are told a set's size. */
int rt_sigaction(int sig, const struct sigaction *act, struct sigaction *old,
		 size_t size);
int rt_sigprocmask(int how, const sigset_t *set, sigset_t *old, size_t size);
int rt_sigpending(sigset_t *set, size_t size);
int rt_sigsuspend(const sigset_t *mask, size_t size);
int rt_sigtimedwait(const sigset_t *set, siginfo_t *info,
		    const struct timespec *timeout, size_t size);
int rt_sigqueueinfo(pid_t pid, int sig, const siginfo_t *info);

int
sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return rt_sigaction(sig, act, old, sizeof(sigset_t));
}

int
sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return rt_sigprocmask(how, set, old, sizeof(*set));
}

int
pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int before = errno, error = 0;

	if (sigprocmask(how, set, old) < 0)
		error = errno;
	errno = before;
	return error;
}

int
sigpending(sigset_t *set)
{
	return rt_sigpending(set, sizeof(*set));
}

int
sigsuspend(const sigset_t *mask)
{
	return rt_sigsuspend(mask, sizeof(*mask));
}

int
sigtimedwait(const sigset_t *set, siginfo_t *info,
	     const struct timespec *timeout)
{
	return rt_sigtimedwait(set, info, timeout, sizeof(*set));
}

int
sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

/* Returns an error's number, which is never EINTR. */
int
sigwait(const sigset_t *set, int *sig)
{
	int before = errno, got, error = 0;

	do
		got = sigwaitinfo(set, NULL);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		error = errno;
	else
		*sig = got;
	errno = before;
	return error;
}

int
sigqueue(pid_t pid, int sig, const union sigval value)
{
	siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_value = value;
	return rt_sigqueueinfo(pid, sig, &info);
}

_sig_func_ptr
signal(int sig, _sig_func_ptr handler)
{
	struct sigaction act = {
	    .sa_handler = handler,
	    .sa_flags = SA_RESTART,
	};
	struct sigaction old;
	return sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

int
raise(int sig)
{
	return tgkill(getpid(), gettid(), sig);
}

int
killpg(pid_t pgrp, int sig)
{
	if (pgrp <= 1) {
		errno = EINVAL;
		return -1;
	}
	return kill(-pgrp, sig);
}

/* Die of SIGABRT: caught or not, ignored or blocked. */
void
abort(void)
{
	sigset_t abrt = sigmask(SIGABRT);

	sigprocmask(SIG_UNBLOCK, &abrt, NULL);
	raise(SIGABRT);
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
	_exit(128 + SIGABRT);
}

int
pause(void)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	return sigsuspend(&mask);
}

static int
bad_signal(int sig)
{
	if (sig > 0 && sig < NSIG)
		return 0;
	errno = EINVAL;
	return -1;
}

int
sigemptyset(sigset_t *set)
{
	*set = 0;
	return 0;
}

int
sigfillset(sigset_t *set)
{
	*set = ~0UL;
	return 0;
}

int
sigaddset(sigset_t *set, int sig)
{
	if (bad_signal(sig) < 0)
		return -1;
	*set |= sigmask(sig);
	return 0;
}

int
sigdelset(sigset_t *set, int sig)
{
	if (bad_signal(sig) < 0)
		return -1;
	*set &= ~sigmask(sig);
	return 0;
}

int
sigismember(const sigset_t *set, int sig)
{
	if (bad_signal(sig) < 0)
		return -1;
	return (*set & sigmask(sig)) != 0;
}

static const char *const names[SIGRTMIN] = {
    [SIGHUP] = "Hangup",
    [SIGINT] = "Interrupt",
    [SIGQUIT] = "Quit",
    [SIGILL] = "Illegal instruction",
    [SIGTRAP] = "Trace trap",
    [SIGABRT] = "Aborted",
    [SIGBUS] = "Bus error",
    [SIGFPE] = "Arithmetic exception",
    [SIGKILL] = "Killed",
    [SIGUSR1] = "User signal 1",
    [SIGSEGV] = "Segmentation fault",
    [SIGUSR2] = "User signal 2",
    [SIGPIPE] = "Broken pipe",
    [SIGALRM] = "Alarm clock",
    [SIGTERM] = "Terminated",
    [SIGCHLD] = "Child status changed",
    [SIGCONT] = "Continued",
    [SIGSTOP] = "Stopped by a signal",
    [SIGTSTP] = "Stopped",
    [SIGTTIN] = "Stopped at terminal input",
    [SIGTTOU] = "Stopped at terminal output",
    [SIGURG] = "Urgent input",
    [SIGXCPU] = "Processor time limit exceeded",
    [SIGXFSZ] = "File size limit exceeded",
    [SIGVTALRM] = "Virtual timer expired",
    [SIGPROF] = "Profiling timer expired",
    [SIGWINCH] = "Window size changed",
    [SIGIO] = "Input or output possible",
    [SIGPWR] = "Power failure",
    [SIGSYS] = "Bad system call",
};

char *
strsignal(int sig)
{
	static char unknown[sizeof("Unknown signal -2147483648")];

	if (sig > 0 && sig < SIGRTMIN && names[sig] != NULL)
		return (char *)names[sig];
	if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		snprintf(unknown, sizeof(unknown), "Real-time signal %d",
			 sig - SIGRTMIN);
	else
		snprintf(unknown, sizeof(unknown), "Unknown signal %d", sig);
	return unknown;
}

void
psignal(int sig, const char *prefix)
{
	if (prefix != NULL && *prefix != '\0')
		fprintf(stderr, "%s: ", prefix);
	fprintf(stderr, "%s\n", strsignal(sig));
}
