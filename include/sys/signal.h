/*
 * Signals, for the kernel and for programs; in place of the C library's own
 * file, which stops short of POSIX. Reached by way of <signal.h>.
 */
#ifndef _SYS_SIGNAL_H
#define _SYS_SIGNAL_H

#include <sys/cdefs.h>
#include <sys/features.h>
#include <sys/types.h>

#ifndef _SIGSET_T_DECLARED
#define _SIGSET_T_DECLARED
typedef unsigned long sigset_t;
#endif

#define SIGHUP    1
#define SIGINT    2
#define SIGQUIT   3
#define SIGILL    4
#define SIGTRAP   5
#define SIGABRT   6
#define SIGIOT    6
#define SIGBUS    7
#define SIGFPE    8
#define SIGKILL   9
#define SIGUSR1   10
#define SIGSEGV   11
#define SIGUSR2   12
#define SIGPIPE   13
#define SIGALRM   14
#define SIGTERM   15
#define SIGCHLD   17
#define SIGCONT   18
#define SIGSTOP   19
#define SIGTSTP   20
#define SIGTTIN   21
#define SIGTTOU   22
#define SIGURG    23
#define SIGXCPU   24
#define SIGXFSZ   25
#define SIGVTALRM 26
#define SIGPROF   27
#define SIGWINCH  28
#define SIGIO     29
#define SIGPWR    30
#define SIGSYS    31
#define NSIG      32
#define _NSIG     NSIG

typedef void (*_sig_func_ptr)(int);
typedef _sig_func_ptr sighandler_t;

union sigval {
	int sival_int;
	void *sival_ptr;
};

typedef struct {
	int si_signo;
	int si_code;
	pid_t si_pid;
	void *si_addr; /* of a fault */
	int si_status;
	union sigval si_value;
} siginfo_t;

#define SI_USER 0

struct sigaction {
	union {
		_sig_func_ptr sa_handler;
		void (*sa_sigaction)(int, siginfo_t *, void *);
	};
	sigset_t sa_mask;
	int sa_flags;
};

#define SA_NOCLDSTOP 0x1
#define SA_NOCLDWAIT 0x2
#define SA_SIGINFO   0x4 /* accepted: handlers get a siginfo_t */
#define SA_RESTART   0x10
#define SA_NODEFER   0x40
#define SA_RESETHAND 0x80

#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define sigmask(sig) (1UL << (sig))

__BEGIN_DECLS
int kill(pid_t pid, int sig);
int killpg(pid_t pgrp, int sig);
int raise(int sig);
_sig_func_ptr signal(int sig, _sig_func_ptr handler);
int sigaction(int sig, const struct sigaction *act, struct sigaction *old);
int sigprocmask(int how, const sigset_t *set, sigset_t *old);
int sigpending(sigset_t *set);
int sigsuspend(const sigset_t *set);
int sigemptyset(sigset_t *set);
int sigfillset(sigset_t *set);
int sigaddset(sigset_t *set, int sig);
int sigdelset(sigset_t *set, int sig);
int sigismember(const sigset_t *set, int sig);
void psignal(int sig, const char *prefix);
__END_DECLS
#endif
