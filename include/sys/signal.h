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
#define SIGRTMIN  32 /* real-time signals, up to SIGRTMAX */
#define SIGRTMAX  64
#define NSIG      65
#define _NSIG     NSIG

typedef void (*_sig_func_ptr)(int);
typedef _sig_func_ptr sighandler_t;

union sigval {
	int sival_int;
	void *sival_ptr;
};

/*
 * Whence a signal comes. si_signo and si_code are always there; si_code says
 * which of the others: see SI_USER and those that follow.
 */
typedef struct {
	int si_signo;
	int si_errno; /* 0 */
	int si_code;
	int __zero;
	union {
		struct {
			union {
				pid_t si_pid;
				int si_timerid;
			};
			union {
				uid_t si_uid;
				int si_overrun;
			};
			union {
				int si_status;
				union sigval si_value;
			};
			clock_t si_utime, si_stime;
		};
		void *si_addr;
		char __size[112];
	};
} siginfo_t;

#define si_int si_value.sival_int
#define si_ptr si_value.sival_ptr

/* Of any signal: si_pid and si_uid with SI_USER, SI_TKILL; with SI_QUEUE
 * si_value, too. SI_TIMER: si_timerid, si_overrun, si_value. */
#define SI_USER   0    /* kill, or raise */
#define SI_KERNEL 0x80 /* the kernel: ^C, an alarm */
#define SI_QUEUE  (-1) /* sigqueue */
#define SI_TIMER  (-2) /* timer_create's */
#define SI_TKILL  (-6) /* pthread_kill */

/* Of SIGCHLD: si_pid and si_uid, si_status, si_utime and si_stime. */
#define CLD_EXITED    1
#define CLD_KILLED    2
#define CLD_DUMPED    3
#define CLD_TRAPPED   4
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

/* Of faults: si_addr is the instruction's address with SIGILL, SIGTRAP and
 * SIGFPE, else what it wanted to access. */
#define ILL_ILLOPC  1
#define FPE_INTDIV  1
#define SEGV_MAPERR 1 /* nothing is there */
#define SEGV_ACCERR 2 /* what is there doesn't allow it */
#define BUS_ADRALN  1 /* unaligned */
#define BUS_ADRERR  2 /* nothing is there in the file */
#define TRAP_BRKPT  1

struct sigaction {
	union {
		_sig_func_ptr sa_handler;
		void (*sa_sigaction)(int, siginfo_t *, void *);
	};
	unsigned long sa_flags;
	sigset_t sa_mask;
};

#define SA_NOCLDSTOP 0x1
#define SA_NOCLDWAIT 0x2
#define SA_SIGINFO   0x4 /* accepted: all handlers get a siginfo_t */
#define SA_ONSTACK   0x08000000
#define SA_RESTART   0x10000000
#define SA_NODEFER   0x40000000
#define SA_RESETHAND 0x80000000UL

#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

/* A stack for handlers with SA_ONSTACK. */
typedef struct {
	void *ss_sp;
	int ss_flags;
	size_t ss_size;
} stack_t;

#define SS_ONSTACK  1 /* the thread is on it now */
#define SS_DISABLE  2 /* there is none */
#define MINSIGSTKSZ 2048
#define SIGSTKSZ    8192

#define sigmask(sig) (1UL << ((sig)-1))

/* How timer_create is to tell that a timer is due. */
struct sigevent {
	union sigval sigev_value;
	int sigev_signo;
	int sigev_notify;
	int sigev_notify_thread_id;
	int __unused_room[11];
};

#define SIGEV_SIGNAL    0
#define SIGEV_NONE      1
#define SIGEV_THREAD_ID 4

struct timespec;

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
int sigqueue(pid_t pid, int sig, const union sigval value);
int sigwait(const sigset_t *set, int *sig);
int sigwaitinfo(const sigset_t *set, siginfo_t *info);
int sigtimedwait(const sigset_t *set, siginfo_t *info,
		 const struct timespec *timeout);
int sigaltstack(const stack_t *stack, stack_t *old);
int tgkill(pid_t pid, pid_t tid, int sig);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
void psignal(int sig, const char *prefix);
__END_DECLS
#endif
