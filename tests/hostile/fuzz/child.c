/*
 * A hostile process. It makes calls, its threads and the processes it forks do
 * too, until it has made ROUND of them or one of them has ended it.
 *
 * An alarm cuts short those that would sleep; every few calls it is set
 * again, as calls may have turned it off.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "fuzz.h"

#define KID_CALLS 150   /* of a process that was forked */
#define RENEW     16    /* calls from setting the alarm to setting it again */
#define RENEW_ALL 128   /* and from catching all signals to that */
#define ALARM_US  10000 /* what a call may sleep */

char *__brk(char *end);

static bool show;
static unsigned int made; /* calls, by all threads: atomic */

static long
raw(const struct call *c)
{
	register long a7 asm("a7") = c->number;
	register long a0 asm("a0") = c->arg[0];
	register long a1 asm("a1") = c->arg[1];
	register long a2 asm("a2") = c->arg[2];
	register long a3 asm("a3") = c->arg[3];
	register long a4 asm("a4") = c->arg[4];
	register long a5 asm("a5") = c->arg[5];

	asm volatile("ecall"
		     : "+r"(a0)
		     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
		     : "memory");
	return a0;
}

/* A call for the test's own ends: neither counted nor shown. */
static long
quiet(long number, unsigned long a, unsigned long b, unsigned long c,
      unsigned long d)
{
	return raw(&(struct call){number, {a, b, c, d}});
}

/* Was it a fault? What another process sends has a code of 0 or less. */
static bool
is_fault(int sig, const siginfo_t *info)
{
	return (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL ||
		sig == SIGTRAP || sig == SIGFPE) &&
	       info->si_code > 0;
}

/* A handler may change what it returns to: SIGUSR2's does, but not so that it
 * wouldn't. */
static void
handle(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	unsigned long *own = (unsigned long *)(c + 1); /* fp_used, ra, fp, pc */

	if (is_fault(sig, info))
		quiet(SYS_exit_group, 1, 0, 0, 0);
	if (sig != SIGUSR2)
		return;
	c->uc_flags = -1ul ^ made;
	c->uc_link = (void *)-1ul;
	c->uc_sigmask = made % 3 == 0 ? -1ul : 0;
	c->uc_stack = (stack_t){(void *)(-1ul << made % 64), made % 4,
				1ul << made % 64};
	memset(&c->uc_mcontext.__fpregs, made, sizeof(c->uc_mcontext.__fpregs));
	own[0] = made % 2;
	own[1] = own[2] = own[3] = -1ul ^ made;
}

static void
catch_signal(int sig)
{
	struct sigaction act = {
	    .sa_sigaction = handle,
	    .sa_flags = SA_SIGINFO,
	};

	quiet(SYS_rt_sigaction, sig, (uintptr_t)&act, 0, sizeof(sigset_t));
}

static void
alarm_renew(void)
{
	static const struct itimerval every = {{0, ALARM_US}, {0, ALARM_US}};
	static const sigset_t none = 0;

	catch_signal(SIGALRM);
	quiet(SYS_rt_sigprocmask, SIG_SETMASK, (uintptr_t)&none, 0,
	      sizeof(none));
	quiet(SYS_setitimer, ITIMER_REAL, (uintptr_t)&every, 0, 0);
}

static void
show_call(const struct call *c)
{
	char line[160];
	int n = snprintf(line, sizeof(line),
			 "%d %u: %ld(%lx, %lx, %lx, %lx, %lx, %lx)\n", self.pid,
			 made, c->number, c->arg[0], c->arg[1], c->arg[2],
			 c->arg[3], c->arg[4], c->arg[5]);

	quiet(SYS_write, LOG_FD, (uintptr_t)line, n, 0);
}

/* What was forked goes on for a while, with other calls than its parent's. */
static void
kid_run(struct rng *r)
{
	self.pid = quiet(SYS_getpid, 0, 0, 0, 0);
	self.depth++;
	self.kids = 0;
	made = 0;
	r->state ^= 0x5bd1e995u * self.depth;
	child_steps(r, KID_CALLS);
	quiet(SYS_exit_group, 0, 0, 0, 0);
}

long
call_do(struct rng *r, const struct call *c)
{
	long result;

	if (show)
		show_call(c);
	result = raw(c);
	if (c->number == SYS_clone && result == 0)
		kid_run(r);
	if (c->number == SYS_clone)
		self.kids++;
	if (__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) % REPORT == 0)
		quiet(SYS_write, REPORT_FD, (uintptr_t) "", 1, 0);
	return result;
}

long
call_args(struct rng *r, long number, unsigned long a, unsigned long b,
	  unsigned long c, unsigned long d)
{
	return call_do(r, &(struct call){number, {a, b, c, d}});
}

/* One of the allocations that come next is to fail. */
static void
fail_soon(struct rng *r)
{
	char line[] = "failalloc 00";
	unsigned int n = below(r, 40);

	line[10] += n / 10;
	line[11] += n % 10;
	quiet(SYS_write, FAIL_FD, (uintptr_t)line, sizeof(line) - 1, 0);
}

void
child_steps(struct rng *r, int n)
{
	for (int i = 0; i < n; i++) {
		struct call c;

		for (int sig = 1; i % RENEW_ALL == 0 && sig < NSIG; sig++)
			catch_signal(sig);
		if (i % RENEW == 0) {
			alarm_renew();
			fail_soon(r);
		}
		call_make(r, &c);
		call_do(r, &c);
		if (one_in(r, 40))
			script_run(r);
	}
}

/* Something of every kind, to be read, written, closed and mixed up. */
static void
open_files(void)
{
	static const struct {
		const char *path;
		int flags;
	} files[] = {
	    {"f0", O_RDWR | O_CREAT},
	    {"f1", O_RDWR | O_CREAT | O_APPEND},
	    {".", O_RDONLY},
	    {"/dev", O_RDONLY},
	    {"/dev/prf", O_RDWR},
	    {"/dev/prf0", O_RDWR},
	    {"/dev/pcs", O_RDONLY},
	    {"/dev/pcstat", O_RDONLY},
	    {"/dev/kpdata", O_RDONLY},
	    {"/dev/kpctl", O_RDONLY},
	    {"/dev/profclock", O_RDONLY},
	    {"/dev/console", O_RDONLY},
	    {"/dev/zero", O_RDWR},
	    {"/boot/kernel", O_RDONLY},
	};
	int fd[2];

	for (int i = 0; i < FAIL_FD; i++)
		close(i);
	for (int i = 0; i < 3; i++)
		open("/dev/null", O_RDWR);
	for (unsigned int i = 0; i < countof(files); i++)
		open(files[i].path, files[i].flags | O_NONBLOCK, 0777);
	if (pipe(fd) == 0) {
		fcntl(fd[0], F_SETFL, O_NONBLOCK);
		fcntl(fd[1], F_SETFL, O_NONBLOCK);
	}
}

void
child_main(uint64_t seed, int length, bool shown)
{
	struct rng r = {seed};

	self.pid = getpid();
	__brk(arena + ARENA_SIZE);
	setpgid(0, 0);
	open_files();
	show = shown;
	child_steps(&r, length);
	quiet(SYS_exit_group, 0, 0, 0, 0);
	for (;;)
		;
}
