/*
 * Signals: what a process may do about them, and when they arrive. (What they
 * do to calls that wait is in interrupted.c; faults are in faults.c, what
 * handlers find and leave in registers.c, alarms in clocks.c.)
 */
#include "catch.h"

#include <ucontext.h>

static struct gate gate;

static siginfo_t last_info;

static void
keep_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	last_sig = sig;
	last_info = *info;
	hits++;
}

/* --- sigaction --- */

static void
test_sigaction_errors(void)
{
	struct sigaction act = {.sa_handler = count_signal}, old;

	CHECK_ERRNO(sigaction(0, &act, NULL), EINVAL, "sigaction: signal 0");
	CHECK_ERRNO(sigaction(NSIG, &act, NULL), EINVAL,
		    "sigaction: past the last signal");
	CHECK_ERRNO(sigaction(-1, NULL, &old), EINVAL, "sigaction: signal -1");
	CHECK_ERRNO(sigaction(SIGKILL, &act, NULL), EINVAL,
		    "sigaction: SIGKILL can't be caught");
	act.sa_handler = SIG_IGN;
	CHECK_ERRNO(sigaction(SIGSTOP, &act, NULL), EINVAL,
		    "sigaction: SIGSTOP can't be ignored");
	CHECK(sigaction(SIGKILL, NULL, &old) == 0 && old.sa_handler == SIG_DFL,
	      "sigaction: but asked for");
	CHECK_FAULTS(BAD_BUT_NULL, "sigaction", sigaction(SIGUSR1, bad, NULL));
	CHECK_FAULTS(BAD_BUT_NULL, "sigaction: old",
		     sigaction(SIGUSR1, &act, bad));
	sigaction(SIGUSR1, NULL, &old);
	CHECK(old.sa_handler == SIG_DFL, "sigaction: errors change nothing");
}

static void
test_sigaction(void)
{
	struct sigaction old;

	catch_signal(SIGUSR1, SA_RESTART, sigmask(SIGHUP));
	sigaction(SIGUSR1, NULL, &old);
	CHECK(old.sa_handler == count_signal && old.sa_flags == SA_RESTART &&
		  old.sa_mask == sigmask(SIGHUP),
	      "sigaction: gives what was set");
	CHECK(signal(SIGUSR1, SIG_IGN) == count_signal, "signal: so does this");
	CHECK(raise(SIGUSR1) == 0 && hits == 0,
	      "an ignored signal does nothing");
	CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN, "signal: back to default");
	catch_signal(SIGUSR1, 0, 0);
	CHECK(raise(SIGUSR1) == 0 && hits == 1 && last_sig == SIGUSR1,
	      "a handler has run when kill returns");
	raise(SIGUSR1);
	CHECK(hits == 2, "and runs every time");
	catch_signal(SIGUSR1, SA_RESETHAND, 0);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &old);
	CHECK(hits == 1 && old.sa_handler == SIG_DFL,
	      "SA_RESETHAND: it runs once");
}

static void
test_siginfo(void)
{
	struct sigaction act = {
	    .sa_sigaction = keep_info,
	    .sa_flags = SA_SIGINFO,
	};

	sigaction(SIGUSR2, &act, NULL);
	kill(getpid(), SIGUSR2);
	CHECK(last_info.si_signo == SIGUSR2 && last_info.si_code == SI_USER,
	      "SA_SIGINFO: the handler is told which signal, and whence");
	signal(SIGUSR2, SIG_DFL);
}

/* --- Masks --- */

static sigset_t mask_in_handler;

static void
keep_mask(int sig)
{
	mask_in_handler = get_mask();
	if (hits++ == 0)
		raise(sig); /* at once, or when this has returned? */
	last_sig = hits;
}

static void
test_handler_mask(void)
{
	struct sigaction act = {
	    .sa_handler = keep_mask,
	    .sa_mask = sigmask(SIGHUP),
	};

	hits = 0;
	set_mask(sigmask(SIGUSR2));
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	CHECK(mask_in_handler ==
		  (sigmask(SIGUSR1) | sigmask(SIGUSR2) | sigmask(SIGHUP)),
	      "in a handler its signal and sa_mask are blocked too");
	CHECK(get_mask() == sigmask(SIGUSR2), "and after it no longer");
	CHECK(hits == 2 && last_sig == 2, "its signal waits for its end");
	act.sa_flags = SA_NODEFER;
	hits = 0;
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	CHECK(!(mask_in_handler & sigmask(SIGUSR1)) && hits == 2,
	      "SA_NODEFER: unless told otherwise");
	set_mask(0);
}

static void
test_sigprocmask(void)
{
	sigset_t set = sigmask(SIGHUP), old = 1;

	CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0 && old == 0,
	      "sigprocmask: gives the old mask");
	set = sigmask(SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK(get_mask() == (sigmask(SIGHUP) | sigmask(SIGINT)),
	      "SIG_BLOCK adds");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(get_mask() == sigmask(SIGHUP), "SIG_UNBLOCK takes away");
	sigprocmask(SIG_SETMASK, &set, NULL);
	CHECK(get_mask() == sigmask(SIGINT), "SIG_SETMASK replaces");
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	CHECK(!(get_mask() & (sigmask(SIGKILL) | sigmask(SIGSTOP))),
	      "SIGKILL and SIGSTOP can't be blocked");
	set_mask(0);
	CHECK_ERRNO(sigprocmask(3, &set, NULL), EINVAL, "sigprocmask: how");
	CHECK(sigprocmask(3, NULL, &old) == 0 && old == 0,
	      "sigprocmask: which doesn't matter when only asking");
	CHECK_FAULTS(BAD_BUT_NULL, "sigprocmask",
		     sigprocmask(SIG_BLOCK, bad, NULL));
	set = sigmask(SIGHUP);
	CHECK_FAULTS(BAD_BUT_NULL, "sigprocmask: old",
		     sigprocmask(SIG_BLOCK, &set, bad));
	CHECK(get_mask() == 0, "sigprocmask: errors change nothing");
}

static void
test_pending(void)
{
	catch_signal(SIGUSR1, 0, 0);
	catch_signal(SIGUSR2, 0, 0);
	set_mask(sigmask(SIGUSR1) | sigmask(SIGUSR2) | sigmask(SIGCHLD));
	CHECK(get_pending() == 0, "sigpending: none");
	raise(SIGUSR1);
	raise(SIGUSR1);
	raise(SIGUSR2);
	CHECK(get_pending() == (sigmask(SIGUSR1) | sigmask(SIGUSR2)) &&
		  hits == 0,
	      "a blocked signal stays pending");
	set_mask(sigmask(SIGUSR2));
	CHECK(hits == 1 && get_pending() == sigmask(SIGUSR2),
	      "and comes once when it no longer is");
	set_mask(0);
	CHECK(hits == 2 && get_pending() == 0, "each signal by itself");
	set_mask(sigmask(SIGUSR1));
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_IGN);
	CHECK(get_pending() == 0, "to ignore a signal forgets a pending one");
	raise(SIGUSR1);
	CHECK(get_pending() == sigmask(SIGUSR1),
	      "one that is blocked waits, as it may be caught by then");
	set_mask(0);
	CHECK(get_pending() == 0, "and else does nothing");
	catch_signal(SIGUSR1, 0, 0);
	set_mask(sigmask(SIGUSR1));
	hits = 0;
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR2);
	CHECK(hits == 1 && get_pending() == sigmask(SIGUSR1),
	      "one that isn't blocked passes one that is");
	set_mask(0);
	CHECK_FAULTS_OUT("sigpending", sigpending(bad));
}

static int
child_pending(void)
{
	struct sigaction act;

	sigaction(SIGUSR1, NULL, &act);
	return get_pending() == 0 && get_mask() == sigmask(SIGUSR1) &&
		       act.sa_handler == count_signal
		   ? 0
		   : 1;
}

static void
test_fork(void)
{
	catch_signal(SIGUSR1, 0, 0);
	set_mask(sigmask(SIGUSR1));
	raise(SIGUSR1);
	CHECK(child_run(child_pending) == 0,
	      "fork: handlers and mask are inherited, pending signals not");
	set_mask(0);
	CHECK(hits == 1, "fork: the parent still has those");
}

/* --- Default actions --- */

enum { KILLS, STOPS, NOTHING };

static int
default_of(int sig)
{
	switch (sig) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
		return NOTHING;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return STOPS;
	default:
		return KILLS;
	}
}

/* A child sends itself sig: did that what it should? */
static bool
acts(int sig)
{
	pid_t pid = fork();

	if (pid == 0) {
		signal(sig, SIG_DFL);
		raise(sig);
		_exit(7);
	}
	switch (default_of(sig)) {
	case KILLS:
		return killed(pid, sig);
	case STOPS:
		if (!stopped(pid, sig))
			return false;
		kill(pid, SIGCONT);
		return exited(pid, 7);
	default:
		return exited(pid, 7);
	}
}

static void
test_defaults(void)
{
	static const char *const what[] = {"kills", "stops", "does nothing"};

	for (int sig = 1; sig < NSIG; sig++)
		CHECK(acts(sig), "by default signal %d %s", sig,
		      what[default_of(sig)]);
}

static int
resist(void)
{
	sigset_t all;

	sigfillset(&all);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	sigprocmask(SIG_SETMASK, &all, NULL);
	gate_open(gate);
	for (;;)
		sched_yield();
	return 0;
}

static void
test_kill_for_sure(void)
{
	pid_t pid = child_start(resist);

	gate_pass(gate);
	kill(pid, SIGTERM);
	kill(pid, SIGSTOP);
	CHECK(stopped(pid, SIGSTOP), "SIGSTOP stops whatever was done");
	kill(pid, SIGCONT);
	kill(pid, SIGKILL);
	CHECK(killed(pid, SIGKILL), "and SIGKILL kills");
}

static int
die_when_unblocked(void)
{
	set_mask(sigmask(SIGTERM));
	raise(SIGTERM);
	gate_open(gate);
	set_mask(0);
	return 0;
}

static void
test_blocked_default(void)
{
	pid_t pid = child_start(die_when_unblocked);

	gate_pass(gate);
	CHECK(killed(pid, SIGTERM), "a blocked signal kills when unblocked");
}

/* --- Stop and go on --- */

static int
stop_blocked(void)
{
	catch_signal(SIGCONT, 0, 0);
	set_mask(sigmask(SIGTSTP));
	raise(SIGTSTP);
	raise(SIGCONT);
	if (get_pending() != 0)
		return 1;
	set_mask(sigmask(SIGCONT));
	raise(SIGCONT);
	set_mask(sigmask(SIGCONT) | sigmask(SIGTTIN));
	raise(SIGTTIN);
	if (get_pending() != sigmask(SIGTTIN))
		return 2;
	raise(SIGCONT);
	return get_pending() == sigmask(SIGCONT) && hits == 1 ? 0 : 3;
}

static int
count_continue(void)
{
	catch_signal(SIGCONT, 0, 0);
	raise(SIGSTOP);
	return hits == 1 ? 0 : 1;
}

static void
test_stop(void)
{
	pid_t pid;

	CHECK(child_run(stop_blocked) == 0,
	      "stop and continue forget each other when pending");
	pid = child_start(count_continue);
	stopped(pid, SIGSTOP);
	kill(pid, SIGCONT);
	CHECK(exited(pid, 0), "SIGCONT continues, and runs its handler too");
}

/* --- sigreturn --- */

static ucontext_t kept;

/* All ones, but for the pc, sp, gp, tp, ra and a7, by which this goes on: the
 * status of the machine is none of what a frame has. */
static void
forge(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	unsigned char *byte = context;

	(void)sig, (void)info;
	kept = *c;
	memset(byte + sizeof(*c), -1, 8); /* Tally's own: in use or not */
	c->uc_flags = -1UL;
	c->uc_link = (void *)-1;
	memset(&c->uc_mcontext.__fpregs, -1, sizeof(c->uc_mcontext.__fpregs));
	for (int i = 5; i < 32; i++)
		if (i != REG_S0 && (i < REG_A0 || i > 17) && i != 9 &&
		    i < REG_S2)
			c->uc_mcontext.__gregs[i] = -1UL;
}

static void
test_forged(void)
{
	struct sigaction act = {.sa_sigaction = forge, .sa_flags = SA_SIGINFO};
	unsigned long status;

	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	CHECK(kept.uc_sigmask == 0 && kept.uc_flags == 0 && !kept.uc_link,
	      "a frame tells the mask, no flags");
	asm volatile("frcsr %0" : "=r"(status));
	CHECK(status == 0xff, "sigreturn: takes fcsr, as far as there is one");
	CHECK(getpid() > 0 && kill(getpid(), 0) == 0,
	      "sigreturn: and what else is forged is not taken");
}

/* A program that returns to the kernel's memory gets no further. */
static void
return_to_kernel(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	((ucontext_t *)context)->uc_mcontext.__gregs[REG_PC] =
	    0xffffffff80200000;
}

static int
go_to_kernel(void)
{
	struct sigaction act = {
	    .sa_sigaction = return_to_kernel,
	    .sa_flags = SA_SIGINFO,
	};

	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	return 0;
}

/* If sigreturn came back, it would exit. */
static int
return_from_nowhere(void)
{
	asm volatile("li sp, 16\n\tli a7, %0\n\tecall\n\t"
		     "li a0, 0\n\tli a7, %1\n\tecall" ::"i"(SYS_rt_sigreturn),
		     "i"(SYS_exit_group));
	return 1;
}

static void
test_no_frame(void)
{
	CHECK(killed(child_start(return_from_nowhere), SIGSEGV),
	      "sigreturn: without a frame it's SIGSEGV");
	CHECK(killed(child_start(go_to_kernel), SIGSEGV),
	      "sigreturn: nor does it return to the kernel");
}

int
main(void)
{
	gate = gate_make();
	test_sigaction_errors();
	test_sigaction();
	test_siginfo();
	test_handler_mask();
	test_sigprocmask();
	test_pending();
	test_fork();
	test_defaults();
	test_kill_for_sure();
	test_blocked_default();
	test_stop();
	test_forged();
	test_no_frame();
	return check_done();
}
